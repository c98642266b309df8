import CQtsAccel

/// A device of this machine: a card once, however many APIs it is seen through.
public struct Device: Equatable, Sendable {
    public enum Kind: Int32, Sendable {
        case cpu = 1 // QTSA_DEVICE_CPU
        case discrete = 2 // QTSA_DEVICE_DISCRETE, a GPU with memory of its own
        case integrated = 3 // QTSA_DEVICE_INTEGRATED, a GPU in the host's memory
        case software = 4 // QTSA_DEVICE_SOFTWARE, a GPU's API computed by the CPU
    }
    /// nil: a kind that this package does not know yet.
    public let kind: Kind?
    public let usable: Bool
    /// Bytes; 0 where nobody knows.
    public let memoryTotal, memoryFree: Int
    /// How it is called: "cuda:0", "vulkan:1".
    public let apis: [String]
    public let name, driver, pci, uuid: String
    /// Why an API cannot be used for it.
    public let problem: String

    init(_ raw: qtsa_device) {
        kind = Kind(rawValue: raw.kind)
        usable = raw.usable != 0
        memoryTotal = Int(raw.memory_total)
        memoryFree = Int(raw.memory_free)
        apis = fixedText(raw.apis).split(separator: " ").map(String.init)
        name = fixedText(raw.name)
        driver = fixedText(raw.driver)
        pci = fixedText(raw.pci)
        uuid = fixedText(raw.uuid)
        problem = fixedText(raw.problem)
    }

    /// The devices in the order in which "auto" prefers them, those too that cannot be used.
    /// Of the options, pluginDirectory and probe are read.
    public static func all(_ options: BackendOptions = BackendOptions()) throws -> [Device] {
        try options.withC { c in
            var count = 0
            try check(qtsa_devices_list(&c, nil, 0, &count))
            while true {
                var raw = [qtsa_device](repeating: qtsa_device(), count: max(count, 1))
                raw[0].struct_size = MemoryLayout<qtsa_device>.size
                let status = qtsa_devices_list(&c, &raw, raw.count, &count)
                if status != 0 && count > raw.count { continue } // one was plugged in in between
                try check(status)
                return raw.prefix(count).map(Device.init)
            }
        }
    }

    /// The same as a report, and for each API without a device the reason.
    public static func report(
        _ options: BackendOptions = BackendOptions(), _ format: ReportFormat = .text
    ) throws -> String {
        try options.withC { c in
            try withUnsafePointer(to: c) { c in
                try text { qtsa_devices_report_copy(c, format.rawValue, $0, $1, $2) }
            }
        }
    }
}

/// The text in an array of characters of a C struct.
func fixedText<T>(_ characters: T) -> String {
    withUnsafeBytes(of: characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}
