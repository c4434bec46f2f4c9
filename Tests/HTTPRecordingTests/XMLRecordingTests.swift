import ApproovTesting
import Foundation
import HTTPClient
import HTTPRecording
import HTTPTypes
import Testing

@Suite struct XMLRecordingTests {
    private let site: Site

    init() throws { site = try Site() }

    @Test(
        "A SOAP exchange is recorded without its secrets, and the live request finds the response",
        arguments: [nil, RecordingRedaction.standard])
    func soap(comparison: RecordingRedaction?) async throws {
        let type = "application/soap+xml; charset=utf-8"
        let request = try TransportRequest(
            "https://api.test/soap", .post, [.contentType: type],
            body: .bytes(Array("<e><b><login><password>canary-password</password></login></b></e>".utf8)))
        try await site.record([request]) { request in
            TransportResponse(
                "<e><b><session id=\"canary-1\">canary-2</session><user>bob</user></b></e>", to: request, [.contentType: type])
        }
        #expect(try !site.everything.contains("canary"))
        let answer = try await ReplayTransport(from: site.recording, comparingBodiesBy: comparison).send(request)
        #expect(try await answer.text == "<e><b><session id=\"REDACTED\">REDACTED</session><user>bob</user></b></e>")
    }

    @Test("XML that cannot be read is not recorded, and is with .keep")
    func unreadable() async throws {
        let text = "<e><token>canary</token>"
        let request = try TransportRequest("https://api.test/")
        await #expect(throws: TransportError(.recordingFailed, "")) {
            try await site.record([request]) { TransportResponse(text, to: $0, [.contentType: "text/xml"]) }
        }
        #expect(try site.names.isEmpty)
        var rules = RecordingRedaction.standard
        rules.bodies = .keep
        try await site.record([request], redaction: rules) { TransportResponse(text, to: $0, [.contentType: "text/xml"]) }
        #expect(try await ReplayTransport(from: site.recording).send(request).text == text)
    }
}
