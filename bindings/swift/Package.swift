// swift-tools-version: 5.9
// qtsaccel for Swift. The library is found by pkg-config: install it first, or point
// PKG_CONFIG_PATH at dist's lib/pkgconfig.
import PackageDescription

let package = Package(
    name: "QtsAccel",
    products: [.library(name: "QtsAccel", targets: ["QtsAccel"])],
    targets: [
        // The installed header, by a module map: there is no copy of it here.
        .systemLibrary(name: "CQtsAccel", pkgConfig: "qtsaccel"),
        .target(name: "QtsAccel", dependencies: ["CQtsAccel"]),
        .testTarget(name: "QtsAccelTests", dependencies: ["QtsAccel"]),
    ]
)
