import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes

/// Before station 9 asks the retriers: the caller's validators, in their order.
struct ValidationStation: Sendable {
    /// The maximum size of a body that validators see, in bytes.
    static let bodyLimit = 1 << 20

    let validators: [any ResponseValidating]
    private let kinds: [Kind]
    /// Whether there are no validators, so that the station has nothing to do.
    let isOff: Bool

    init(_ validators: [any ResponseValidating]) {
        self.validators = validators
        kinds = validators.map(Kind.init)
        isOff = validators.isEmpty
    }

    private enum Kind: Sendable {
        case seesFields(any FieldValidating)
        case seesHead(any ResponseValidating)

        init(_ validator: any ResponseValidating) {
            self = (validator as? any FieldValidating).map { .seesFields($0) } ?? .seesHead(validator)
        }

        func validate(_ head: HTTPURLResponse, _ body: Data?, _ fields: HTTPFields?) throws {
            switch self {
            case .seesFields(let validator):
                guard let fields else { return try validator.validate(head, body: body) }
                try validator.validate(status: head.statusCode, body: body) { fields.scanJoinedValue(of: $0) }
            case .seesHead(let validator): try validator.validate(head, body: body)
            }
        }

        var type: any ResponseValidating.Type {
            switch self {
            case .seesFields(let validator): Swift.type(of: validator)
            case .seesHead(let validator): Swift.type(of: validator)
            }
        }
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
        let fields = sent.response.headerFields
        guard !observation.isStreamed else { return try validate(head, nil, fields) }
        let bytes = try await sent.body(upTo: observation.bodyLimit)
        try validate(head, bytes.count <= Self.bodyLimit ? Data(bytes) : nil, fields)
    }

    /// Validates a response.
    ///
    /// - Parameters:
    ///   - head: The head.
    ///   - body: The body; nil if it is not in memory or too large.
    ///   - fields: The header fields of the head as they came; nil if they are not known.
    /// - Throws: ``ApproovError`` with code `responseRefused`, which has the response; `CancellationError` of a validator.
    func validate(_ head: HTTPURLResponse, _ body: Data?, _ fields: HTTPFields? = nil) throws {
        let body = body.flatMap { $0.count <= Self.bodyLimit ? $0 : nil }
        // By index, which copies no validator.
        for index in kinds.indices {
            do {
                try kinds[index].validate(head, body, fields)
            } catch let error as CancellationError {
                throw error
            } catch {
                let own = (error as? ApproovError).flatMap { $0.code == .responseRefused ? $0 : nil }
                var refusal = own ?? .responseRefused("\(kinds[index].type) does not accept it", cause: error)
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
