import Foundation
import FoundationNetworking
import HTTPClient

/// Before station 9 asks the retriers: the caller's validators, in their order.
struct ValidationStation: Sendable {
    /// The maximum size of a body that validators see, in bytes.
    static let bodyLimit = 1 << 20

    let validators: [any ResponseValidating]
    /// Whether there are no validators, so that the station has nothing to do.
    let isOff: Bool

    init(_ validators: [any ResponseValidating]) {
        self.validators = validators
        isOff = validators.isEmpty
    }

    /// Validates a response, and reads its body first unless the caller reads it part by part.
    ///
    /// Leaves status 416 of a resumed download to the download, which knows what it means.
    ///
    /// - Parameters:
    ///   - sent: The request with its response.
    ///   - heads: Makes the head.
    ///   - observation: The limits of the transfer.
    /// - Throws: ``ApproovError`` with code `responseRefused` when a validator refuses the response; an error of the transfer.
    func validate(_ sent: SentRequest, _ heads: ResponseHeads, _ observation: RequestObservation) async throws {
        if observation.isResuming, sent.response.status == 416 { return }
        let head = try heads.head(of: sent)
        guard !observation.isStreamed else { return try validate(head, nil) }
        let bytes = try await sent.body(upTo: observation.bodyLimit)
        try validate(head, bytes.count <= Self.bodyLimit ? Data(bytes) : nil)
    }

    /// Validates a response.
    ///
    /// - Parameters:
    ///   - head: The head.
    ///   - body: The body; nil if it is not in memory or too large.
    /// - Throws: ``ApproovError`` with code `responseRefused`, which has the response; `CancellationError` of a validator.
    func validate(_ head: HTTPURLResponse, _ body: Data?) throws {
        let body = body.flatMap { $0.count <= Self.bodyLimit ? $0 : nil }
        for validator in validators {
            do {
                try validator.validate(head, body: body)
            } catch let error as CancellationError {
                throw error
            } catch {
                let own = (error as? ApproovError).flatMap { $0.code == .responseRefused ? $0 : nil }
                var refusal = own ?? .responseRefused("\(type(of: validator)) does not accept it", cause: error)
                refusal.addResponse(head, body)
                throw refusal
            }
        }
    }
}

extension ApproovError {
    /// Adds the response to the error of a validator.
    fileprivate mutating func addResponse(_ head: HTTPURLResponse, _ body: Data?) {
        var response = refusedResponse ?? RefusedResponse(serverCode: nil, serverMessage: nil)
        response.head = head
        response.body = body
        refusedResponse = response
    }
}
