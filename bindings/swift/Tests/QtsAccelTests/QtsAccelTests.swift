import Foundation
import QtsAccel
import XCTest

func failure(_ body: () throws -> Void) -> QtsError? {
    do {
        try body()
        return nil
    } catch {
        return error as? QtsError
    }
}

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
        let z: [Float] = try Plan(session, graph).run([1, 10] as [Float])
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
        XCTAssertEqual(try plan.inputInfo(0, dims: [3]).shape, [3, 2])
        XCTAssertEqual(try plan.outputInfo(0, dims: [3]).shape, [2])
        XCTAssertEqual(failure { _ = try plan.outputInfo(1, dims: [3]) }?.name, "INVALID_ARGUMENT")
        try plan.prepare(dims: [3])
        XCTAssertEqual(try plan.run([1, 2] as [Float], dims: [1]) as [Float], [1, 2])
        XCTAssertEqual(try plan.run([1, 2, 3, 4, 5, 6] as [Float], dims: [3]) as [Float], [10, 14])
        XCTAssertEqual(try session.read("total", count: 2) as [Float], [10, 14])
        try session.write("total", [1, 1] as [Float])
        XCTAssertEqual(try session.read("total", count: 2) as [Float], [1, 1])
        try session.reset()
        XCTAssertEqual(try session.read("total", count: 2) as [Float], [0, 0])
    }

    func testDimensionsAreExpressions() throws {
        let graph = try Graph("expressions")
        let n = try graph.dim("n", 2...8), m = try graph.dim("m", 1...4), k = 2
        let odd = try k * n + 1
        XCTAssertEqual(odd.description, "2*n + 1")
        XCTAssertEqual(try (10 - n).description, "10 - n")
        XCTAssertEqual(try (n / 2 * m).description, "m*(n/2)")
        XCTAssertEqual(try n + 1, try 1 + n)
        XCTAssertNotEqual(n, m)
        let x = try graph.input("x", .f32, [odd, m])
        try graph.output("part", Ops.slice(x, axis: 0, start: n / 2, end: n))
        try graph.output("count", Ops.arange(graph, count: n * m))
        XCTAssertEqual(try x.info.shape, [-1, -1])
        let plan = try Plan(session, graph)
        XCTAssertEqual(try plan.inputInfo(0, dims: [4, 2]).shape, [9, 2])
        XCTAssertEqual(try plan.outputInfo(0, dims: [4, 2]).shape, [2, 2])
        XCTAssertEqual(try plan.outputInfo(1, dims: [4, 2]).shape, [8])
        XCTAssertTrue(failure { try plan.prepare(dims: [3, 2]) }?.message.contains("\"n/2\" is 3/2") ?? false)
        XCTAssertTrue(failure { _ = try graph.input("z", .f32, [0 - n]) }?.message.contains("\"-n\" is -2") ?? false)
        let other = try Graph("other"), stranger = try other.dim("n", 2...8)
        for refused in [
            failure { _ = try other.input("z", .f32, [n, 4]) },
            failure { _ = try n + stranger },
            failure { _ = try Ops.reshape(x, shape: [stranger, -1]) },
        ] {
            XCTAssertEqual(refused?.name, "INVALID_ARGUMENT")
            XCTAssertTrue(refused?.message.contains("of another graph") ?? false, "\(String(describing: refused))")
        }
    }

    func testTensorsOfAnotherGraph() throws {
        let graph = try Graph("mine"), other = try Graph("theirs")
        let x = try graph.input("x", .f32, [2]), y = try other.input("y", .f32, [2])
        for refused in [
            failure { _ = try x + y },
            failure { _ = try graph.add("relu", [y]) },
            failure { try graph.output("out", y) },
        ] {
            XCTAssertEqual(refused?.name, "INVALID_ARGUMENT")
            XCTAssertTrue(refused?.message.contains("another graph") ?? false, "\(String(describing: refused))")
        }
        let weight = try Matrix(Backend("reference"), [1, 2], [1, 2] as [Float])
        XCTAssertEqual(failure { _ = try self.backend.matmul([1, 2], weight) }?.name, "INVALID_ARGUMENT")
        // A tensor keeps its graph.
        let kept = try { try Graph("gone").input("x", .f32, [2]) }()
        XCTAssertEqual(try Ops.relu(kept).info.shape, [2])
    }

    func testErrors() throws {
        let graph = try Graph("bad")
        let x = try graph.input("x", .f32, [2, 3])
        let mismatch = failure { _ = try Ops.matmul(x, x) }
        XCTAssertEqual(mismatch?.name, "SHAPE_MISMATCH")
        XCTAssertEqual(mismatch?.status, QtsError.shapeMismatch)
        XCTAssertEqual(DType.q4_k.description, "q4_K")
        XCTAssertTrue(mismatch?.message.contains("[2, 3]") ?? false, "\(String(describing: mismatch))")
        XCTAssertEqual(failure { _ = try Weights(path: "/nowhere.gguf") }?.name, "IO")
        XCTAssertEqual(failure { _ = try Backend("abacus") }?.name, "INVALID_ARGUMENT")
        let other = try Graph("other").input("x", .f32, [2, 3])
        XCTAssertTrue(failure { _ = try x + other }?.message.contains("another graph") ?? false)
        try graph.output("y", Ops.relu(x)) // and it goes on
        let plan = try Plan(session, graph)
        XCTAssertEqual(failure { _ = try plan.run([1] as [Float]) as [Float] }?.name, "SHAPE_MISMATCH")
        XCTAssertEqual(try plan.run([1, -1, 2, -2, 3, -3] as [Float]) as [Float], [1, 0, 2, 0, 3, 0])
    }

    func testAsyncRunsOfManyTasks() async throws {
        let graph = try Graph("double")
        try graph.output("y", graph.input("x", .f32, [4]) * 2)
        let plan = try Plan(session, graph)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for i in 0..<50 {
                let x = [Float](repeating: Float(i), count: 4)
                group.addTask { try await plan.run([x], as: Float.self) == x.map { 2 * $0 } }
            }
            for try await right in group { XCTAssertTrue(right) }
        }
    }

    /// A long run ends soon after its task, the session goes on, and nobody else's run is stopped.
    func testCancelledTasks() async throws {
        let graph = try Graph("long")
        let n = 384
        var y = try graph.input("x", .f32, [n, n])
        for _ in 0..<4000 { y = try Ops.matmul(y, y) }
        try graph.output("y", y)
        let short = try Graph("short")
        try short.output("y", short.input("x", .f32, [4]) * 2)
        let long = try Plan(session, graph), next = try Plan(session, short)
        let zeros = [Float](repeating: 0, count: n * n)
        try long.prepare()
        let running = Task { try await long.run([zeros], as: Float.self) }
        let waiting = Task { try await next.run([[1, 2, 3, 4] as [Float]], as: Float.self) }
        try await Task.sleep(nanoseconds: 200_000_000)
        waiting.cancel() // it has not had its turn, and must not stop the other
        try await Task.sleep(nanoseconds: 100_000_000)
        running.cancel()
        for task in [running, waiting] {
            do {
                _ = try await task.value
                XCTFail("it ran to its end")
            } catch {
                XCTAssertTrue(error is CancellationError, "\(error)")
            }
        }
        let after: [Float] = try await next.run([[1, 2, 3, 4] as [Float]])
        XCTAssertEqual(after, [2, 4, 6, 8])
    }

    func testCalls() throws {
        let w = try Matrix(backend, [3, 2], [1, 2, 3, 4, 5, 6] as [Float])
        XCTAssertEqual(try w.bytes, 24)
        XCTAssertEqual(try backend.matmul([1, 10, 2, 0], w), [21, 43, 65, 2, 6, 10])
        let weights = try Weights()
        try weights.set("w", .f32, [1, 2], [1, 2] as [Float])
        let row = try Matrix(backend, weights, "w")
        let several = try backend.matmul([1, 10, 2, 0], [Product(w, bias: [1, 1, -100], .relu), Product(row)])
        XCTAssertEqual(several, [[22, 44, 0, 3, 7, 0], [21, 2]])
        XCTAssertEqual(try backend.matmul([], w), [])

        // Sums over windows of 3 by 3 of an image of ones; half of a border's lies outside.
        let nine = [Float](repeating: 1, count: 9)
        let kernel = try Matrix(backend, [1, 3, 3, 1], nine)
        let image = Image(h: 3, w: 3, cIn: 1, k: 3)
        XCTAssertEqual(try backend.conv2d(nine, image, Product(kernel)), [4, 6, 4, 6, 9, 6, 4, 6, 4])
        XCTAssertEqual(try backend.conv2d(nine, Image(h: 3, w: 3, cIn: 1, k: 3, stride: 2), Product(kernel)), [4, 4, 4, 4])
        let norm = Norm(.layer, gamma: [1], beta: [2]) // of one channel nothing is left but beta
        XCTAssertEqual(try backend.conv2d(nine, image, Product(kernel), norm: norm)[4], 18)

        // Equal keys: the mean of the values.
        let mean = try backend.attention([1, 2], [1, 1, 1, 1], [2, 4, 6, 8], heads: 1, kvHeads: 1, headDim: 2)
        XCTAssertEqual(mean, [4, 6])

        let x = Operand.f32([1, 10, 2, 0], [2, 2])
        XCTAssertEqual(try backend.run("linear", [x, .matrix(w), .none], shape: [2, 3]), [21, 43, 65, 2, 6, 10])
        XCTAssertEqual(try backend.run("reduce_max", [x], [.int("axis", 0)], shape: [1, 2]), [2, 10])
        let table = Operand.f32([1, 2, 3, 4], [2, 2])
        XCTAssertEqual(try backend.run("embedding", [table, .i32([1, 0], [2])], shape: [2, 2]), [3, 4, 1, 2])
        var best = [Float](repeating: 0, count: 2), at = [Int32](repeating: 0, count: 2)
        try best.withUnsafeMutableBytes { b in
            try at.withUnsafeMutableBytes { a in
                try backend.run("top_k", [x], [.int("k", 1)], into: [(b, .f32, [2, 1]), (a, .i32, [2, 1])])
            }
        }
        XCTAssertEqual(best, [10, 2])
        XCTAssertEqual(at, [1, 0])

        for (says, call) in [
            ("rows of 2", { _ = try self.backend.matmul([1], w) }),
            ("bias of product 0", { _ = try self.backend.matmul([1, 2], [Product(w, bias: [1])]) }),
            ("9", { _ = try self.backend.conv2d([1], image, Product(kernel)) }),
            ("positions", { _ = try self.backend.attention([1], [1], [1], heads: 1, kvHeads: 1, headDim: 2) }),
            ("4 bytes", { _ = try self.backend.run("silu", [.f32([1], [2])], shape: [2]) }),
        ] as [(String, () throws -> Void)] {
            let e = failure(call)
            XCTAssertEqual(e?.name, "SHAPE_MISMATCH")
            XCTAssertTrue(e?.message.contains(says) ?? false, "\(String(describing: e))")
        }
        XCTAssertEqual(failure { _ = try self.backend.run("abacus", [x], shape: [1]) }?.name, "NOT_FOUND")

        _ = try backend.stats(reset: true)
        XCTAssertTrue(try backend.wants("matmul", [1, 2, 3]))
        try backend.setThreshold("matmul", Threshold(minFlops: 1000, flopsPerByte: 2))
        XCTAssertTrue(try backend.stats(.json).contains("\"min_flops\": 1000,"))
        try backend.calibrate(.off)
        _ = try backend.matmul([1, 10], w, [.onlyIfWorthwhile, .onCPUIfDeclined])
        XCTAssertTrue(try backend.stats().contains("matmul"))

        XCTAssertEqual(failure { _ = try Backend.active }?.name, "NOT_FOUND")
        try Backend.install(backend)
        for _ in 0..<2 { XCTAssertEqual(try Backend.active?.matmul([1, 10], w), [21, 43, 65]) }
        XCTAssertEqual(failure { try Backend.install(nil) }?.name, "ALREADY_EXISTS")
    }

    func testFilesOfWeights() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("qtsaccel-\(UUID()).gguf").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let weights = try Weights()
        for layer in 0..<2 { try weights.set("layer.\(layer).w", .f32, [2, 32], [Float](repeating: 1, count: 64)) }
        var last: UInt64 = 0
        try weights.save(path: path, metadata: [.string("general.name", "test")]) { done, _ in
            last = done
            return false
        }
        XCTAssertGreaterThan(last, 0)
        let options = WeightsOptions(
            placement: .copied, rules: [.init("layer.*.w", rename: "l*"), .init("*0*", dtype: .f16)],
            importance: ["layer.1.w": [Float](repeating: 1, count: 32)])
        XCTAssertEqual(try Weights.memory(path: path, options).file_bytes, 512)
        let again = try Weights(path: path, options)
        XCTAssertEqual(try again.info("l0").dtype, .f16)
        XCTAssertEqual(try again.info("l1").bytes, 256)
        XCTAssertEqual(try again.metadata("general.name"), "test")
        XCTAssertTrue(try again.report().contains("layer.0.w"))
        try again.upload(backend, "l?", "*1") { _, _ in false }
        XCTAssertEqual(try again.deviceBytes(backend), 0) // a CPU computes with them where they lie
        XCTAssertEqual(failure { try again.upload(self.backend, "nothing") }?.name, "NOT_FOUND")
        XCTAssertEqual(failure { _ = try Weights(path: path) { _, _ in true } }?.name, "CANCELLED")
        XCTAssertEqual(failure { _ = try Weights(path: path, WeightsOptions(placement: .copied, budget: 1)) }?.name, "OUT_OF_MEMORY")
    }

    func testTensorsAndMetadata() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("qtsaccel-\(UUID()).gguf").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let weights = try Weights()
        try weights.declare("turned", .f32, [2, 3])
        try weights.setArray("turned", .f32, [1, 2, 3, 4, 5, 6] as [Float], strides: [4, 8])
        XCTAssertEqual(failure { try weights.setArray("turned", .f32, [1, 2] as [Float], strides: [4, 8]) }?.name, "SHAPE_MISMATCH")
        let split = SplitMatrix(
            nOut: 1, nIn: 32, levels: [UInt8](repeating: 3, count: 32), scales: [0.5] as [Float], .f32, isSigned: true)
        let report = try weights.addSplit("split", split)
        XCTAssertEqual(report.dtype, .q8_0)
        XCTAssertTrue(report.exact)
        XCTAssertEqual(try Matrix(backend, split).split, report)
        XCTAssertEqual(try weights.names, ["turned", "split"])
        try weights.save(path: path, metadata: [.ints("some", [1, -2]), .float("half", 0.5), .string("word", "x")])
        let again = try Weights(path: path)
        // A file with quantised tensors names the version of their formats.
        XCTAssertEqual(try again.metadataKeys, ["some", "half", "word", "general.quantization_version"])
        XCTAssertEqual(try again.metadataInts("some"), [1, -2])
        XCTAssertEqual(try again.metadataFloats("half"), [0.5])
        XCTAssertEqual(try again.metadataString("word"), "x")
        XCTAssertEqual(failure { _ = try again.metadataBools("word") }?.name, "INVALID_ARGUMENT")
        XCTAssertTrue(try again.metadataInfo("some").isArray)
        XCTAssertEqual(try again.metadataInfo("half").type, .float)

        let graph = try Graph("turned")
        let x = try graph.input("x", .f32, [1, 3])
        try graph.output("y", Ops.linear(x, graph.weight(again, "turned")))
        let plan = try Plan(Session(backend), graph)
        XCTAssertEqual(try plan.inputIndex("x"), 0)
        XCTAssertEqual(failure { _ = try plan.outputIndex("x") }?.name, "NOT_FOUND")
        var y: [Float] = [0, 0]
        let timing = try y.withUnsafeMutableBytes { try plan.run([[1, 10, 100] as [Float]], into: [$0]) }
        XCTAssertEqual(y, [531, 642])
        XCTAssertGreaterThan(timing.compute, 0)

        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 64)
        let released = expectation(description: "released")
        do {
            let lent = try Weights()
            try lent.lend("w", .f32, [16], UnsafeRawBufferPointer(memory)) { released.fulfill() }
        }
        wait(for: [released], timeout: 60)
        memory.deallocate()
    }

    func testDevicesAndLog() throws {
        let devices = try Device.all()
        XCTAssertEqual(devices.filter { $0.kind == .cpu }.count, 1)
        XCTAssertTrue(try Device.report().contains("cpu:0"))
        try Library.requireVersion()
        XCTAssertGreaterThanOrEqual(Library.version, 200)
        var options = BackendOptions()
        (options.backend, options.debug) = ("reference", true)
        let lines = Lines()
        try Library.setLog { level, line in
            // In a callback the library refuses to be called.
            lines.add("\(level) \(line)", failure { _ = try Device.all() }?.name)
        }
        _ = try Backend(options)
        try Library.setLog(nil)
        XCTAssertTrue(lines.all.contains { $0.contains("reference") })
        XCTAssertEqual(Set(lines.failures), ["INVALID_STATE"])
    }

    func testObjectsOutliveOneAnother() throws {
        var plan: Plan?
        do {
            let graph = try Graph("kept")
            try graph.output("y", graph.input("x", .f32, [1]) + 1)
            plan = try Plan(Session(Backend("cpu")), graph)
        }
        XCTAssertEqual(try plan?.run([1] as [Float]), [2] as [Float])
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
            try plan.run(Array(padded[$0..<$0 + 576]), threads: 1)[0]
        }
    }
}

/// What the log has said, from any thread.
private final class Lines: @unchecked Sendable {
    private let lock = NSLock()
    private var kept: [String] = [], refused: [String] = []

    func add(_ line: String, _ failure: String?) {
        lock.lock()
        defer { lock.unlock() }
        kept.append(line)
        refused.append(failure ?? "none")
    }
    var all: [String] { lock.lock(); defer { lock.unlock() }; return kept }
    var failures: [String] { lock.lock(); defer { lock.unlock() }; return refused }
}
