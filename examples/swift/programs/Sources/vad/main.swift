// vad: says where in a recording somebody speaks, with Silero VAD.
//
//     vad silero_vad_16k.safetensors talk.wav
import Foundation
import QtsAccel

let rate = 16000, context = 64, fresh = 512, bins = 129, hidden = 128

func build(_ w: Weights) throws -> Graph {
    let g = try Graph("vad")
    var x = try g.input("samples", .f32, [1, 1, context + fresh])
    // The magnitudes of the short-time Fourier transform, whose matrix is a convolution's weight.
    x = try Ops.pad(x, pads: [0, 0, 0, 0, 0, 64], mode: "reflect")
    x = try Ops.conv1d(x, g.weight(w, "stft_conv.weight"), stride: 128)
    let real = try Ops.slice(x, axis: 1, end: bins), imaginary = try Ops.slice(x, axis: 1, start: bins)
    x = try Ops.sqrt(Ops.square(real) + Ops.square(imaginary))
    for (layer, stride) in [("conv1", 1), ("conv2", 2), ("conv3", 2), ("conv4", 1)] {
        let weight = try g.weight(w, layer + ".weight"), bias = try g.weight(w, layer + ".bias")
        x = try Ops.relu(Ops.conv1d(x, weight, bias: bias, stride: stride, padding: [1]))
    }
    let h = try g.state("h", .f32, [1, hidden]), c = try g.state("c", .f32, [1, hidden])
    let next = try Ops.lstmCell(
        Ops.reshape(x, shape: [1, hidden]), h, c, g.weight(w, "lstm_cell.weight_ih"),
        g.weight(w, "lstm_cell.weight_hh"), biasIh: g.weight(w, "lstm_cell.bias_ih"),
        biasHh: g.weight(w, "lstm_cell.bias_hh"))
    _ = try Ops.stateWrite(h, next.h) // they go on to the next window
    _ = try Ops.stateWrite(c, next.c)
    x = try Ops.reshape(Ops.relu(next.h), shape: [1, hidden, 1])
    x = try Ops.conv1d(x, g.weight(w, "final_conv.weight"), bias: g.weight(w, "final_conv.bias"))
    try g.output("probability", Ops.sigmoid(x))
    return g
}

/// The samples of a WAV file of 16-bit numbers, one channel, from -1 to 1.
func read(_ path: String) throws -> [Float] {
    let file = try Data(contentsOf: URL(fileURLWithPath: path))
    guard let mark = file.range(of: Data("data".utf8)), file.starts(with: Data("RIFF".utf8)),
        file[22] == 1, file[34] == 16, Int(file[24]) + Int(file[25]) << 8 == rate
    else { fatalError("\(path) is no recording of 16 bits, one channel, \(rate) Hz") }
    return file[(mark.upperBound + 4)...].withUnsafeBytes { raw in
        (0..<raw.count / 2).map { Float(raw.loadUnaligned(fromByteOffset: 2 * $0, as: Int16.self)) / 32768 }
    }
}

guard CommandLine.arguments.count == 3 else { fatalError("usage: vad MODEL.safetensors RECORDING.wav") }
let samples = try read(CommandLine.arguments[2])
let plan = try Plan(Session(Backend()), build(Weights(path: CommandLine.arguments[1])))
let padded = [Float](repeating: 0, count: context) + samples + [Float](repeating: 0, count: fresh)

var start = -1, pause = -1 // in samples; -1: no speech, no pause in it
func speech(until end: Int) {
    if end - start > rate / 4 {
        print(String(format: "%.3f - %.3f", Double(start) / Double(rate), Double(end) / Double(rate)))
    }
    (start, pause) = (-1, -1)
}
for at in stride(from: 0, to: samples.count, by: fresh) {
    let p: Float = try plan.run(Array(padded[at..<at + context + fresh]), threads: 1)[0]
    if p >= 0.5 {
        pause = -1
        start = start < 0 ? at : start
    } else if start >= 0 && p < 0.35 {
        pause = pause < 0 ? at : pause
        if at - pause >= rate / 10 { speech(until: pause) }
    }
}
if start >= 0 { speech(until: samples.count) }
