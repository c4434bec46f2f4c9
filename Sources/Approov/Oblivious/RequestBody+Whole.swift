import Foundation
import HTTPClient
import Synchronization

extension RequestBody {
    /// Reads the whole body into memory.
    ///
    /// - Parameters:
    ///   - limit: The maximum size in bytes.
    ///   - remedy: The remedy to name when the body is larger.
    /// - Returns: The bytes.
    /// - Throws: ``ApproovError`` with code `bodyFailed` when the body is larger; any error from reading it.
    func collected(
        upTo limit: Int, remedy: String = "over Oblivious HTTP, send less, or use a gateway that supports chunks"
    ) async throws -> Data {
        switch self {
        case .none: return Data()
        case .bytes(let bytes):
            guard bytes.count <= limit else { throw Self.tooLarge(limit, remedy) }
            return Data(bytes)
        case .file, .stream:
            let whole = WholeBody()
            try await forEachPart { part in
                guard whole.append(part, upTo: limit) else { throw Self.tooLarge(limit, remedy) }
            }
            return whole.data
        }
    }

    private static func tooLarge(_ limit: Int, _ remedy: String) -> ApproovError {
        ApproovError(.bodyFailed, "the body has more than \(limit) bytes: \(remedy)")
    }
}

/// Collects a body that arrives in parts.
private final class WholeBody: Sendable {
    private let bytes = Mutex(Data())

    var data: Data { bytes.withLock { $0 } }

    /// Appends a part; returns false if the body would exceed the limit.
    func append(_ part: [UInt8], upTo limit: Int) -> Bool {
        bytes.withLock { bytes in
            guard part.count <= limit - bytes.count else { return false }
            bytes.append(contentsOf: part)
            return true
        }
    }
}
