// story: tells a story with stories260K, token by token.
//
//     story stories260K_f32.gguf tok512.bin 256 "Once upon a time"
import Foundation
import QtsAccel

let layers = 5, heads = 8, kvHeads = 4, headDim = 8, context = 512, kvStep = 64

/// One step: a token at a position to the logits of the one after it.
func build(_ w: Weights) throws -> Graph {
    let g = try Graph("story")
    let nKV = try g.dim("n_kv", kvStep...context) // how much of the cache is read
    let token = try g.input("token", .i32, [1]), position = try g.input("position", .i32, [1])
    func split(_ x: Tensor, _ n: Int) throws -> Tensor { try Ops.reshape(x, shape: [1, n, headDim]) }
    func rope(_ x: Tensor) throws -> Tensor { try Ops.rope(x, position, mode: "interleaved") }
    func norm(_ x: Tensor, _ weight: Tensor) throws -> Tensor { try Ops.rmsNorm(x, weight: weight, eps: 1e-5) }
    func cache(_ name: String, _ row: Tensor) throws -> Tensor {
        let rows = try g.state(name, .f32, [context, kvHeads, headDim])
        return try Ops.slice(Ops.stateWrite(rows, row, positions: position), axis: 0, end: nKV)
    }

    let embeddings = try g.weight(w, "token_embd.weight")
    var x = try Ops.embedding(embeddings, token)
    for layer in 0..<layers {
        func weight(_ name: String) throws -> Tensor { try g.weight(w, "blk.\(layer).\(name).weight") }
        var h = try norm(x, weight("attn_norm"))
        let q = try rope(split(Ops.linear(h, weight("attn_q")), heads))
        let k = try rope(split(Ops.linear(h, weight("attn_k")), kvHeads))
        let v = try split(Ops.linear(h, weight("attn_v")), kvHeads)
        // Rows after the query's position, not written yet, are invisible to it.
        let y = try Ops.attention(q, cache("k.\(layer)", k), cache("v.\(layer)", v), positions: position)
        x = try x + Ops.linear(Ops.reshape(y, shape: [1, heads * headDim]), weight("attn_output"))
        h = try norm(x, weight("ffn_norm"))
        h = try Ops.swiglu(Ops.linear(h, weight("ffn_gate")), Ops.linear(h, weight("ffn_up")))
        x = try x + Ops.linear(h, weight("ffn_down"))
    }
    try g.output("logits", Ops.linear(norm(x, g.weight(w, "output_norm.weight")), embeddings))
    return g
}

let arguments = CommandLine.arguments
guard arguments.count == 5, let count = Int(arguments[3]) else {
    fatalError("usage: story MODEL.gguf TOKENIZER.bin TOKENS PROMPT")
}
let tokenizer = try Tokenizer(path: arguments[2])
var tokens = tokenizer.encode(arguments[4])
let end = min(context, tokens.count + count - 1)
let step = try Plan(Session(Backend()), build(Weights(path: arguments[1])))
for position in 0..<end {
    let logits: [Float] = try step.run(
        [Int32(tokens[position])], [Int32(position)], dims: [(position / kvStep + 1) * kvStep], threads: 1)
    if position + 1 == tokens.count { // beyond the prompt, the model goes on with the likeliest
        tokens.append(logits.indices.max { logits[$0] < logits[$1] }!)
    }
    let next = tokens[position + 1]
    if next == Tokenizer.begin || next == Tokenizer.end { break }
    FileHandle.standardOutput.write(Data(tokenizer.decode(next, after: tokens[position])))
}
print()
