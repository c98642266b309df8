#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Texts and arrays as C reads them, kept for as long as it lives.
final class Arena {
    private var owned: [UnsafeMutableRawPointer] = []

    deinit { owned.forEach { free($0) } }

    func text(_ s: String) -> UnsafePointer<CChar> {
        let copy = strdup(s)!
        owned.append(copy)
        return UnsafePointer(copy)
    }

    func array<T>(_ values: [T]) -> UnsafePointer<T> {
        let copy = malloc(max(values.count, 1) * MemoryLayout<T>.stride)!
        owned.append(copy)
        let typed = copy.bindMemory(to: T.self, capacity: max(values.count, 1))
        typed.initialize(from: values, count: values.count)
        return UnsafePointer(typed)
    }
}
