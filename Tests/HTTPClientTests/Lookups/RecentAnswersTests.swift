import ApproovTesting
import CertificatePinning
import Foundation
import Testing

@testable import HTTPClient

@Suite("RecentAnswers")
struct RecentAnswersTests {
    private let route: LookupRoute

    init() throws {
        let policy = TrustPolicy(rules: HostMap(), defaultAnchors: try TrustAnchors(pem: TestPKI.root().pem))
        route = LookupRoute(of: TransportRequest(url: try TransportURL("https://a.test/"), policy: policy))
    }

    private func key(_ number: Int) -> RoutedLookup {
        RoutedLookup(lookup: TrustLookup(kind: .ocsp, url: "http://ocsp.test/\(number)"), route: route)
    }

    private func answer(_ count: Int, to key: RoutedLookup) -> TrustLookupResult {
        TrustLookupResult(of: key.lookup, bytes: [UInt8](repeating: 1, count: count), receivedAt: Date())
    }

    @Test("An answer is kept until its time is over, and a failure is not kept")
    func time() {
        var answers = RecentAnswers()
        answers.keep(answer(3, to: key(0)), for: key(0), at: .seconds(100))
        answers.keep(TrustLookupResult(failure: "down", receivedAt: Date()), for: key(1), at: .seconds(100))
        #expect(answers.result(of: key(1), at: .seconds(100)) == nil)
        let end = .seconds(100) + RecentAnswers.lifetime
        #expect(answers.result(of: key(0), at: end - .nanoseconds(1))?.bytes == [1, 1, 1])
        #expect(answers.result(of: key(0), at: end) == nil)
        #expect(answers.count == 0 && answers.bytes == 0)
    }

    @Test("The number and the bytes of the answers are bounded, and the oldest make room")
    func bounds() {
        var answers = RecentAnswers()
        for number in 0...RecentAnswers.maximumCount {
            answers.keep(answer(1, to: key(number)), for: key(number), at: .milliseconds(number))
        }
        #expect(answers.count == RecentAnswers.maximumCount)
        #expect(answers.result(of: key(0), at: .seconds(1)) == nil)
        #expect(answers.result(of: key(1), at: .seconds(1)) != nil)
        for number in 0..<20 {
            let large = answer(RecentAnswers.maximumAnswerBytes - 1_000, to: key(number))
            answers.keep(large, for: key(number), at: .seconds(1))
            #expect(answers.bytes <= RecentAnswers.maximumBytes)
        }
        #expect(answers.result(of: key(19), at: .seconds(1)) != nil)
        answers.keep(answer(RecentAnswers.maximumAnswerBytes, to: key(20)), for: key(20), at: .seconds(1))
        #expect(answers.result(of: key(20), at: .seconds(1)) == nil)
        #expect(answers.result(of: key(19), at: .seconds(1)) != nil)
    }
}
