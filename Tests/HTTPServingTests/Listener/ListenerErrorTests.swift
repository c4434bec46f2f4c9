import ApproovBase
import Foundation
import Testing

@testable import HTTPServing

@Suite struct ListenerErrorTests {
    private struct ServerError: ListenerError {
        struct Code: ErrorCode {
            let rawValue: String
            init(rawValue: String) { self.rawValue = rawValue }
        }

        let details: ErrorDetails<Code>
        init(_ details: ErrorDetails<Code>) { self.details = details }

        static func code(for kind: ListenerFailure.Kind) -> Code { Code(rawValue: "\(kind)") }
    }

    @Test("A listener failure becomes the module's error, with code, message and cause")
    func converted() throws {
        struct Cause: Error {}
        let error = ServerError(ListenerFailure(kind: .cannotListen, message: "do this", cause: Cause()))
        #expect(error.code.rawValue == "cannotListen" && error.message == "do this" && error.cause is Cause)
        #expect(try ServerError.converting { () throws(ListenerFailure) in 7 } == 7)
    }

    @Test("The error for a trusted proxy that is not a range names it")
    func proxies() throws {
        let error = #expect(throws: ServerError.self) {
            try ServerError.converting { () throws(ListenerFailure) in try AddressRange.all(["10.0.0.0/8", "10.0.0.1/8"]) }
        }
        #expect(error?.code.rawValue == "malformedProxy")
        #expect(error?.message.hasPrefix("trusted proxies: 10.0.0.1/8 has bits") == true)
        #expect(try AddressRange.all(["10.0.0.0/8", "::1"]).count == 2)
    }
}
