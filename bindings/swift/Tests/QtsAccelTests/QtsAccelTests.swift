import Foundation
import QtsAccel
import XCTest

final class QtsAccelTests: XCTestCase {
    var backend: Backend!
    var session: Session!

    override func setUpWithError() throws {
        backend = try Backend("cpu", threads: 1)
        session = try Session(backend)
    }

    func testExpressions() throws {
        let weights = try Weights()
        try weights.set("w", .f32, [3, 2], [1, 2, 3, 4, 5, 6] as [Float])
        XCTAssertEqual(try weights.count, 1)
        XCTAssertEqual(try weights.info("w").shape, [3, 2])

        let graph = try Graph("expressions")
        let x = try graph.input("x", .f32, [1, 2])
        let y = try Ops.linear(x, graph.weight(weights, "w"))
        try graph.output("z", -(y * 0.5 + 1) - y / y * y + y)
        XCTAssertEqual(try y.info, try y.info)
        XCTAssertEqual(try y.info.shape, [1, 3])
        let z: [Float] = try Plan(session, graph).run([1, 10] as [Float], count: 3)
        for (got, product) in zip(z, [21, 43, 65] as [Float]) {
            XCTAssertEqual(got, -(product * 0.5 + 1), accuracy: 1e-4)
        }
    }

    func testListsTextsAndSeveralOutputs() throws {
        let graph = try Graph("several")
        let x = try graph.input("x", .f32, [1, 4])
        let padded = try Ops.pad(x, pads: [0, 1, 0, 1], mode: "reflect")
        let (values, indices) = try Ops.topK(padded, k: 2)
        try graph.output("values", values)
        try graph.output("indices", indices)
        try graph.output("joined", Ops.concat(x, x, x, axis: 1))
        let plan = try Plan(session, graph)
        var best = [Float](repeating: 0, count: 2), at = [Int32](repeating: 0, count: 2)
        var joined = [Float](repeating: 0, count: 12)
        try best.withUnsafeMutableBytes { b in
            try at.withUnsafeMutableBytes { a in
                try joined.withUnsafeMutableBytes { j in
                    try plan.run([[1, 5, 2, 3] as [Float]], into: [b, a, j])
                }
            }
        }
        XCTAssertEqual(best, [5, 5]) // 5 1 5 2 3 2
        XCTAssertEqual(at, [0, 2])
        XCTAssertEqual(joined, [1, 5, 2, 3, 1, 5, 2, 3, 1, 5, 2, 3])
        XCTAssertTrue(try plan.placement().contains("concat"))
    }

    func testStateAndDimensions() throws {
        let graph = try Graph("sums")
        let n = try graph.dim("n", 1...8)
        let x = try graph.input("x", .f32, [n, 2])
        let total = try graph.state("total", .f32, [2])
        try graph.output("now", Ops.stateWrite(total, total + Ops.reduceSum(x, axis: 0, keepdims: 0)))
        let plan = try Plan(session, graph, maxInstances: 4, strict: true)
        try plan.prepare(dims: [3])
        XCTAssertEqual(try plan.run([1, 2] as [Float], count: 2, dims: [1]) as [Float], [1, 2])
        XCTAssertEqual(try plan.run([1, 2, 3, 4, 5, 6] as [Float], count: 2, dims: [3]) as [Float], [10, 14])
        XCTAssertEqual(try session.read("total", count: 2) as [Float], [10, 14])
        try session.write("total", [1, 1] as [Float])
        XCTAssertEqual(try session.read("total", count: 2) as [Float], [1, 1])
        try session.reset()
        XCTAssertEqual(try session.read("total", count: 2) as [Float], [0, 0])
    }

    func failure(_ body: () throws -> Void) -> QtsError? {
        do {
            try body()
            return nil
        } catch {
            return error as? QtsError
        }
    }

    func testErrors() throws {
        let graph = try Graph("bad")
        let x = try graph.input("x", .f32, [2, 3])
        let mismatch = failure { _ = try Ops.matmul(x, x) }
        XCTAssertEqual(mismatch?.name, "SHAPE_MISMATCH")
        XCTAssertTrue(mismatch?.message.contains("[2, 3]") ?? false, "\(String(describing: mismatch))")
        XCTAssertEqual(failure { _ = try Weights(path: "/nowhere.gguf") }?.name, "IO")
        XCTAssertEqual(failure { _ = try Backend("abacus") }?.name, "INVALID_ARGUMENT")
        let other = try Graph("other").input("x", .f32, [2, 3])
        XCTAssertTrue(failure { _ = try x + other }?.message.contains("another graph") ?? false)
        try graph.output("y", Ops.relu(x)) // and it goes on
        let plan = try Plan(session, graph)
        XCTAssertEqual(failure { _ = try plan.run([1] as [Float], count: 6) as [Float] }?.name, "SHAPE_MISMATCH")
        XCTAssertEqual(try plan.run([1, -1, 2, -2, 3, -3] as [Float], count: 6) as [Float], [1, 0, 2, 0, 3, 0])
    }

    func testAsyncRunsOfManyTasks() async throws {
        let graph = try Graph("double")
        try graph.output("y", graph.input("x", .f32, [4]) * 2)
        let plan = try Plan(session, graph)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for i in 0..<50 {
                let x = [Float](repeating: Float(i), count: 4)
                group.addTask { try await plan.run([x], count: 4, as: Float.self) == x.map { 2 * $0 } }
            }
            for try await right in group { XCTAssertTrue(right) }
        }
    }

    func testObjectsOutliveOneAnother() throws {
        var plan: Plan?
        do {
            let graph = try Graph("kept")
            try graph.output("y", graph.input("x", .f32, [1]) + 1)
            plan = try Plan(Session(Backend("cpu")), graph)
        }
        XCTAssertEqual(try plan?.run([1] as [Float], count: 1), [2] as [Float])
    }

    /// Silero VAD on real speech, against probabilities from ONNX Runtime.
    func testVAD() throws {
        guard let folder = ProcessInfo.processInfo.environment["QTSACCEL_SHARED_DATA"] else {
            throw XCTSkip("QTSACCEL_SHARED_DATA does not say where the test data is")
        }
        let vad = try VAD(backend, weights: Weights(path: folder + "/silero-vad/silero_vad_v6.2_16k_from_onnx.safetensors"))
        let wave = try Data(contentsOf: URL(fileURLWithPath: folder + "/silero-vad/jfk.wav"))
        let data = wave.range(of: Data("data".utf8))!.upperBound + 4
        let samples = wave[data...].withUnsafeBytes { raw in
            (0..<raw.count / 2).map { Float(raw.loadUnaligned(fromByteOffset: 2 * $0, as: Int16.self)) / 32768 }
        }
        let golden = try JSONSerialization.jsonObject(
            with: Data(contentsOf: URL(fileURLWithPath: folder + "/silero-vad/golden_probs_jfk.json")))
        let want = (golden as? [Double]) ?? (golden as! [String: Any]).values.compactMap { $0 as? [Double] }.first!
        let got = try vad.probabilities(samples)
        XCTAssertEqual(got.count, want.count)
        for (g, w) in zip(got, want) { XCTAssertEqual(Double(g), w, accuracy: 1e-4) }
    }
}

/// Silero VAD for 16 kHz: the probability that each window of 32 ms holds speech.
struct VAD {
    let plan: Plan

    init(_ backend: Backend, weights w: Weights) throws {
        let g = try Graph("vad")
        var x = try g.input("samples", .f32, [1, 1, 576])
        x = try Ops.pad(x, pads: [0, 0, 0, 0, 0, 64], mode: "reflect")
        x = try Ops.conv1d(x, g.weight(w, "stft_conv.weight"), stride: 128)
        x = try Ops.sqrt(
            Ops.square(Ops.slice(x, axis: 1, end: 129)) + Ops.square(Ops.slice(x, axis: 1, start: 129)))
        for (layer, stride) in [("conv1", 1), ("conv2", 2), ("conv3", 2), ("conv4", 1)] {
            x = try Ops.relu(Ops.conv1d(
                x, g.weight(w, layer + ".weight"), bias: g.weight(w, layer + ".bias"), stride: stride, padding: [1]))
        }
        let h = try g.state("h", .f32, [1, 128]), c = try g.state("c", .f32, [1, 128])
        let next = try Ops.lstmCell(
            Ops.reshape(x, shape: [1, 128]), h, c, g.weight(w, "lstm_cell.weight_ih"), g.weight(w, "lstm_cell.weight_hh"),
            biasIh: g.weight(w, "lstm_cell.bias_ih"), biasHh: g.weight(w, "lstm_cell.bias_hh"))
        _ = try Ops.stateWrite(h, next.h)
        _ = try Ops.stateWrite(c, next.c)
        x = try Ops.reshape(Ops.relu(next.h), shape: [1, 128, 1])
        x = try Ops.conv1d(x, g.weight(w, "final_conv.weight"), bias: g.weight(w, "final_conv.bias"))
        try g.output("probability", Ops.sigmoid(x))
        plan = try Plan(Session(backend), g)
    }

    func probabilities(_ samples: [Float]) throws -> [Float] {
        let padded = [Float](repeating: 0, count: 64) + samples + [Float](repeating: 0, count: 511)
        return try stride(from: 0, to: samples.count, by: 512).map {
            try plan.run(Array(padded[$0..<$0 + 576]), count: 1, threads: 1)[0]
        }
    }
}
