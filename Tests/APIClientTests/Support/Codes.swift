import APIClient
import HTTPClient

/// The code of the `APIError` that the work throws; nil if it throws none.
func code<T>(_ work: () throws -> T) -> APIError.Code? {
    do {
        _ = try work()
        return nil
    } catch {
        return (error as? APIError)?.code
    }
}

/// The text of the `APIError` that the work throws; empty if it throws none.
func message<T>(_ work: () throws -> T) -> String {
    do {
        _ = try work()
        return ""
    } catch {
        return (error as? APIError)?.description ?? ""
    }
}

extension RequestBody {
    /// The bytes of a body that is in memory; nil for others.
    var bytes: [UInt8]? {
        switch self {
        case .none: []
        case .bytes(let bytes): bytes
        case .file, .stream: nil
        }
    }

    /// The text of a body that is in memory.
    var text: String? { bytes.map { String(decoding: $0, as: UTF8.self) } }
}
