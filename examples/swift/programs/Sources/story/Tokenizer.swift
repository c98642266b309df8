import Foundation

/// A tokenizer in llama2.c's format.
struct Tokenizer {
    static let vocabulary = 512, begin = 1, end = 2, bytes = 3 // bytes: the tokens of the 256 bytes begin there
    private var texts: [[UInt8]] = [], scores: [Float] = [], tokens: [[UInt8]: Int] = [:]

    init(path: String) throws {
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        data.withUnsafeBytes { raw in
            var at = 4
            for token in 0..<Tokenizer.vocabulary {
                let n = Int(raw.loadUnaligned(fromByteOffset: at + 4, as: Int32.self))
                scores.append(raw.loadUnaligned(fromByteOffset: at, as: Float.self))
                texts.append(Array(raw[at + 8..<at + 8 + n]))
                tokens[texts[token]] = token
                at += 8 + n
            }
        }
    }

    func encode(_ text: String) -> [Int] {
        var out = [Tokenizer.begin]
        for character in (text.isEmpty ? "" : " " + text).unicodeScalars {
            let utf8 = Array(String(character).utf8)
            out += tokens[utf8].map { [$0] } ?? utf8.map { Tokenizer.bytes + Int($0) }
        }
        while true { // join the neighbours whose joint token scores best
            var best: (at: Int, token: Int)?
            for i in out.indices.dropFirst().dropLast() {
                if let t = tokens[texts[out[i]] + texts[out[i + 1]]], best == nil || scores[t] > scores[best!.token] {
                    best = (i, t)
                }
            }
            guard let best else { return out }
            out.replaceSubrange(best.at...best.at + 1, with: [best.token])
        }
    }

    func decode(_ token: Int, after before: Int) -> [UInt8] {
        if token >= Tokenizer.bytes && token < Tokenizer.bytes + 256 { return [UInt8(token - Tokenizer.bytes)] }
        return before == Tokenizer.begin && texts[token].first == 32 ? Array(texts[token].dropFirst()) : texts[token]
    }
}
