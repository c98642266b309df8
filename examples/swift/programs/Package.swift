// swift-tools-version: 5.9
// The examples in Swift, over the package in bindings/swift. upscale needs libpng.
import PackageDescription

let qtsaccel = Target.Dependency.product(name: "QtsAccel", package: "swift")
let package = Package(
    name: "Examples",
    dependencies: [.package(path: "../../../bindings/swift")],
    targets: [
        .systemLibrary(name: "CPNG", pkgConfig: "libpng"),
        .executableTarget(name: "story", dependencies: [qtsaccel]),
        .executableTarget(name: "vad", dependencies: [qtsaccel]),
        .executableTarget(name: "upscale", dependencies: [qtsaccel, "CPNG"]),
    ]
)
