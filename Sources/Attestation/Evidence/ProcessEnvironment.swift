import ApproovBase
import Glibc

/// Observes the environment of the process.
///
/// An attacker who controls the machine can hide all of it. These checks only make attacks more expensive.
enum ProcessEnvironment {
    /// The flags of this process, sorted.
    static func flags() -> [String] {
        flags(status: contents("/proc/self/status"), environ: contents("/proc/self/environ"), userID: geteuid())
    }

    /// The flags for the content of `/proc/PID/status` and `/proc/PID/environ`; nil content sets the `-unknown` flags.
    static func flags(status: [UInt8]?, environ: [UInt8]?, userID: UInt32) -> [String] {
        var flags: [String] = []
        switch status.flatMap(tracer) {
        case nil: flags.append("debugger-unknown")
        case 0: break
        default: flags.append("debugger")
        }
        if let environ {
            if setsPreload(environ) { flags.append("ld-preload") }
        } else {
            flags.append("ld-preload-unknown")
        }
        if userID == 0 { flags.append("root") }
        return flags
    }

    /// Returns the process ID of the tracer, 0 if the process is not traced; nil if the status does not say.
    private static func tracer(in status: [UInt8]) -> Int? {
        let name = Array("TracerPid:".utf8)
        for line in status.split(separator: UInt8(ascii: "\n")) where line.starts(with: name) {
            let digits = line.dropFirst(name.count).filter { $0 != UInt8(ascii: "\t") && $0 != UInt8(ascii: " ") }
            return Int(String(decoding: digits, as: UTF8.self))
        }
        return nil
    }

    /// Whether the process was started with LD_PRELOAD or LD_AUDIT, which load other libraries into it.
    private static func setsPreload(_ environ: [UInt8]) -> Bool {
        let names = ["LD_PRELOAD=", "LD_AUDIT="].map { Array($0.utf8) }
        return environ.split(separator: 0).contains { entry in
            names.contains { entry.starts(with: $0) && entry.count > $0.count }
        }
    }

    /// Returns the content of a file under /proc; nil if it cannot be read or has 4 MiB or more.
    private static func contents(_ path: String) -> [UInt8]? {
        guard let file = ReadableFile(path) else { return nil }
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        while content.count < 4 * 1024 * 1024 {
            guard let count = buffer.withUnsafeMutableBytes({ file.read(into: $0) }) else { return nil }
            if count == 0 { return content }
            content.append(contentsOf: buffer[..<count])
        }
        return nil
    }
}
