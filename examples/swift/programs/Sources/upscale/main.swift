// upscale: makes a picture twice as large with ESRGAN-slim, all of it at once.
//
//     upscale dist/esrgan/x2 photo.png larger.png
import CPNG
import Foundation
import QtsAccel

/// A model of TensorFlow.js, whose kernels are [height, width, in, out].
func open(_ folder: String) throws -> Weights {
    struct Model: Decodable { let weightsManifest: [Group] }
    struct Group: Decodable { let paths: [String], weights: [Entry] }
    struct Entry: Decodable { let name: String, shape: [Int] }
    func read(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name)) }

    let weights = try Weights()
    for group in try JSONDecoder().decode(Model.self, from: read("model.json")).weightsManifest {
        let data = try group.paths.map(read).reduce(Data(), +)
        var at = 0
        for entry in group.weights {
            let n = entry.shape.reduce(1, *), s = entry.shape
            var values = data.withUnsafeBytes { raw in
                (0..<n).map { raw.loadUnaligned(fromByteOffset: at + 4 * $0, as: Float.self) }
            }
            at += 4 * n
            if s.count == 4 {
                let inner = s[0] * s[1] // to [out, in, height, width]
                values = (0..<n).map { values[($0 % inner * s[2] + $0 / inner % s[2]) * s[3] + $0 / inner / s[2]] }
            }
            try weights.set(entry.name, .f32, s.count == 4 ? [s[3], s[2], s[0], s[1]] : s, values)
        }
    }
    return weights
}

func build(_ w: Weights, _ height: Int, _ width: Int) throws -> Graph {
    let g = try Graph("upscale")
    func conv(_ x: Tensor, _ layer: String, _ kernel: Int) throws -> Tensor {
        try Ops.conv2d(x, g.weight(w, layer + "/kernel"), bias: g.weight(w, layer + "/bias"), padding: [kernel / 2])
    }
    func residualDense(_ x: Tensor, _ grow: String, _ mix: String) throws -> Tensor {
        try conv(Ops.concat(x, Ops.relu(conv(x, grow, 3)), axis: 1), mix, 1) + x
    }
    let shallow = try conv(g.input("picture", .f32, [1, 3, height, width]), "F_m1", 3)
    let first = try residualDense(conv(shallow, "F_0", 3), "F_1_1", "LFF_1")
    let second = try residualDense(first, "F_2_1", "LFF_2")
    var x = try conv(conv(Ops.concat(first, second, axis: 1), "GFF_1", 1), "GFF_2", 3) + shallow
    x = try Ops.relu(conv(Ops.relu(conv(x, "UPN1", 5)), "UPN2", 3))
    try g.output("larger", conv(Ops.upsample(conv(x, "UPN3", 3), scale: [2]), "SR", 3))
    return g
}

let arguments = CommandLine.arguments
var image = png_image()
image.version = UInt32(PNG_IMAGE_VERSION)
guard arguments.count == 4, png_image_begin_read_from_file(&image, arguments[2]) != 0 else {
    fatalError("usage: upscale MODEL_FOLDER INPUT.png OUTPUT.png")
}
image.format = 2 // PNG_FORMAT_RGB
let width = Int(image.width), height = Int(image.height), area = width * height
var pixels = [UInt8](repeating: 0, count: 3 * area)
guard png_image_finish_read(&image, nil, &pixels, 0, nil) != 0 else { fatalError("cannot read \(arguments[2])") }

let plan = try Plan(Session(Backend()), build(open(arguments[1]), height, width))
let planes = (0..<3 * area).map { Float(pixels[$0 % area * 3 + $0 / area]) }
let larger: [Float] = try plan.run(planes)
let result = (0..<12 * area).map { UInt8(min(max(larger[$0 % 3 * 4 * area + $0 / 3], 0), 255) + 0.5) }

image.width *= 2
image.height *= 2
guard png_image_write_to_file(&image, arguments[3], 0, result, 0, nil) != 0 else {
    fatalError("cannot write \(arguments[3])")
}
