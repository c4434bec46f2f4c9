import Foundation
import FoundationNetworking
import HTTPClient
import Synchronization

extension URLRequest {
    /// The request and the body to send.
    ///
    /// - Parameter body: The body to send, which replaces the request's own; nil to send the request's own.
    /// - Returns: Both.
    func sending(_ body: RequestBody?) -> (request: URLRequest, body: RequestBody) {
        if let body { (showing(.none), body) } else { (self, RequestBody(of: self)) }
    }

    /// The request with this body instead of the one that it has.
    ///
    /// - Parameter body: The body. One from memory comes into `httpBody`; a file or a stream does not.
    /// - Returns: The request.
    func showing(_ body: RequestBody) -> URLRequest {
        let data: Data? = if case .bytes(let bytes) = body { Data(bytes) } else { nil }
        guard httpBody != data || httpBodyStream != nil else { return self }
        var request = self
        // In this order: on Linux, taking the stream away takes the body away, too.
        if request.httpBodyStream != nil { request.httpBodyStream = nil }
        request.httpBody = data
        return request
    }

    /// The maximum size in bytes of a streamed body for a protocol class, which gets it as a whole.
    private static let maximumCarriedBytes = 64 << 20

    /// Returns the request with the body in `httpBody`, where a protocol class finds it.
    ///
    /// - Throws: ``ApproovError`` with code `bodyFailed` when the body cannot be read, or a stream has more than 64 MiB.
    func carrying(_ body: RequestBody) async throws -> URLRequest {
        var request = self
        switch body {
        case .none, .bytes: return showing(body)
        case .file(let path):
            do {
                request.httpBody = try Data(contentsOf: URL(filePath: path))
            } catch {
                throw ApproovError(.bodyFailed, "the file to upload cannot be read", cause: error)
            }
        case .stream:
            // The request's own stream stays where it is.
            guard httpBodyStream == nil else { break }
            request.httpBody = try await Self.collect(body)
        }
        return request
    }

    private static func collect(_ body: RequestBody) async throws -> Data {
        let whole = Mutex(Data())
        do {
            try await body.forEachPart { part in
                try whole.withLock { whole in
                    guard part.count <= maximumCarriedBytes - whole.count else {
                        throw ApproovError(.bodyFailed, "a streamed body for a protocol class may have 64 MiB at most: send a smaller one")
                    }
                    whole += part
                }
            }
        } catch let error as ApproovError {
            throw error
        } catch let error as TransportError {
            throw ApproovError(error)
        } catch {
            throw error is CancellationError ? error : ApproovError(.bodyFailed, "the request's body could not be read", cause: error)
        }
        return whole.withLock { $0 }
    }
}
