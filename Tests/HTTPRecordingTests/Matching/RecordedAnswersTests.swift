import HTTPTypes
import Testing

@testable import HTTPRecording

@Suite struct RecordedAnswersTests {
    private static let url = "https://api.test/a"

    private func answers(_ exchanges: [(status: Int, lines: [String])]) -> RecordedAnswers {
        let exchanges = exchanges.map { status, lines in
            (
                name: "\(status).json",
                exchange: RecordedExchange(
                    method: .get, url: Self.url, requestLines: lines, status: status, version: "HTTP/1.1", responseLines: [])
            )
        }
        return RecordedAnswers(exchanges, ignoresOrigin: false)
    }

    /// The statuses of the answers to requests with these fields, in order; nil for no answer.
    private func statuses(_ answers: RecordedAnswers, _ requests: [HTTPFields]) -> [Int?] {
        var answers = answers
        return requests.map { answers.next(.get, Self.url, $0, digest: nil, comparesBodies: false)?.exchange.status }
    }

    @Test("A part of the content answers only a request for this part")
    func ranges() {
        let parts = answers([(206, ["Range: bytes=0-3"]), (206, ["range:bytes=4-"]), (416, ["Range: bytes=8-"])])
        #expect(
            statuses(parts, [[.range: "bytes=4-"], [.range: "bytes=8-"], [.range: "bytes=0-3"], [.range: "bytes=1-"], [:]])
                == [206, 416, 206, nil, nil])
        // A recording that keeps no Range.
        let redacted = answers([(206, ["Range: REDACTED-0123ab"])])
        #expect(statuses(redacted, [[:], [.range: "bytes=1-"]]) == [nil, 206])
    }

    @Test("An exchange with the digest of the request's body comes before one without a digest, which is the fallback")
    func digests() {
        let digests: [(status: Int, digest: String?)] = [(201, nil), (202, "aa"), (203, nil), (204, "bb")]
        let exchanges = digests.map { status, digest in
            (
                name: "\(status).json",
                exchange: RecordedExchange(
                    method: .get, url: Self.url, bodyDigest: digest, status: status, version: "HTTP/1.1", responseLines: [])
            )
        }
        var answers = RecordedAnswers(exchanges, ignoresOrigin: false)
        let seen = ["aa", "cc", "aa", "bb", "cc"].map {
            answers.next(.get, Self.url, [:], digest: $0, comparesBodies: true)?.exchange.status
        }
        #expect(seen == [202, 201, 202, 204, 203])
        let last = answers.next(.get, Self.url, [:], digest: nil, comparesBodies: false)?.exchange.status
        #expect(last == 204)
    }

    @Test("A request without a digest takes an exchange without one first, if bodies are compared, and then any")
    func withoutDigest() {
        func exchange(_ status: Int, _ digest: String?) -> (name: String, exchange: RecordedExchange) {
            (
                name: "\(status).json",
                exchange: RecordedExchange(
                    method: .get, url: Self.url, bodyDigest: digest, status: status, version: "HTTP/1.1", responseLines: [])
            )
        }
        func status(_ answers: inout RecordedAnswers, _ digest: String?, comparesBodies: Bool = true) -> Int? {
            answers.next(.get, Self.url, [:], digest: digest, comparesBodies: comparesBodies)?.exchange.status
        }
        let exchanges = [exchange(201, "aa"), exchange(202, nil), exchange(203, "bb")]
        var answers = RecordedAnswers(exchanges, ignoresOrigin: false)
        let seen = [status(&answers, nil), status(&answers, "aa"), status(&answers, nil)]
        #expect(seen == [202, 201, 202])
        var ignoring = RecordedAnswers(exchanges, ignoresOrigin: false)
        let first = status(&ignoring, nil, comparesBodies: false)
        #expect(first == 201)
        var others = RecordedAnswers([exchange(201, "aa")], ignoresOrigin: false)
        let other = status(&others, nil)
        #expect(other == 201)
    }

    @Test("A fallback answers if the exchange with the digest of the request's body needs conditions")
    func digestWithConditions() {
        let exchange = RecordedExchange(
            method: .get, url: Self.url, requestLines: ["Range: bytes=4-"], bodyDigest: "aa", status: 206, version: "HTTP/1.1",
            responseLines: [])
        let whole = RecordedExchange(method: .get, url: Self.url, status: 200, version: "HTTP/1.1", responseLines: [])
        var answers = RecordedAnswers([("1.json", exchange), ("2.json", whole)], ignoresOrigin: false)
        let requests: [HTTPFields] = [[:], [.range: "bytes=4-"]]
        let seen = requests.map { answers.next(.get, Self.url, $0, digest: "aa", comparesBodies: true)?.exchange.status }
        #expect(seen == [200, 206])
    }

    @Test("Not Modified answers only a conditional request, whatever its tag and date are")
    func conditions() {
        let recorded = answers([
            (200, []), (304, ["If-None-Match: \"a\""]), (304, ["If-None-Match: \"a\"", "If-Modified-Since: x"]),
        ])
        #expect(statuses(recorded, [[.ifNoneMatch: "\"b\""], [:], [:], [.ifNoneMatch: "\"a\""]]) == [304, 200, 200, 304])
        #expect(statuses(recorded, [[.ifModifiedSince: "x"], [.ifNoneMatch: "\"b\"", .ifModifiedSince: "y"]]) == [200, 304])
        #expect(statuses(answers([(304, ["If-None-Match: \"a\""])]), [[:]]) == [nil])
    }

    @Test("The whole content answers a request with other conditions, and an exchange without request fields answers all")
    func others() {
        #expect(statuses(answers([(200, [])]), [[.range: "bytes=1-"], [.ifNoneMatch: "\"a\""]]) == [200, 200])
        #expect(statuses(answers([(200, ["If-None-Match: \"a\""])]), [[:]]) == [200])
        #expect(statuses(answers([(206, [])]), [[.range: "bytes=1-"], [:]]) == [206, 206])
    }

    @Test("Among exchanges with the same conditions the first unused one answers")
    func order() {
        let recorded = answers([(201, []), (304, ["If-None-Match: \"a\""]), (202, ["If-None-Match: \"a\""]), (203, [])])
        let tag: HTTPFields = [.ifNoneMatch: "\"a\""]
        #expect(statuses(recorded, [tag, [:], tag, [:], tag, [:]]) == [304, 201, 202, 203, 202, 203])
    }

    @Test("A client without conditions gets each whole content in order, also one that was recorded with conditions")
    func changedContent() {
        let recorded = answers([(200, []), (201, ["If-None-Match: \"a\""]), (304, ["If-None-Match: \"b\""]), (202, [])])
        #expect(statuses(recorded, [[:], [:], [:], [:]]) == [200, 201, 202, 202])
    }

    @Test("A client without conditions gets no error of a request with conditions, unless there is nothing else")
    func conditionalErrors() {
        let recorded = answers([(200, []), (401, ["If-None-Match: \"a\""]), (503, ["Range: bytes=4-"]), (304, ["If-None-Match: \"a\""])])
        #expect(statuses(recorded, [[:], [:], [.ifNoneMatch: "\"a\""], [:]]) == [200, 200, 401, 200])
        #expect(statuses(answers([(401, ["If-None-Match: \"a\""])]), [[:]]) == [401])
        // Nor does a client with other conditions.
        let part = answers([(200, []), (503, ["Range: bytes=4-"])])
        #expect(statuses(part, [[.ifNoneMatch: "\"a\""], [.ifNoneMatch: "\"a\""], [.range: "bytes=4-"]]) == [200, 200, 503])
    }
}
