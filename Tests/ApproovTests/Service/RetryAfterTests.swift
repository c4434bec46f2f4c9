import Foundation
import Testing

@testable import Approov

@Suite struct RetryAfterTests {
    let now = Date(timeIntervalSince1970: 784_111_777)  // Sun, 06 Nov 1994 08:49:37 GMT

    @Test(
        "A number of seconds and an HTTP date are accepted",
        arguments: [
            ("0", 0), ("120", 120), (" 5 ", 5), ("99999999999999999999", 999_999_999),
            ("0000000120", 120), ("00000000000000000000", 0), ("Sunday, 06-Nov-94 08:50:37 GMT", 60), ("Sun, 06 Nov 1994 08:49:37 GMT", 0),
            ("Sun, 06 Nov 1994 08:50:37 GMT", 60), ("Sun, 06 Nov 1993 08:50:37 GMT", 0), ("Sun, 06 Nov 2093 08:50:37 GMT", 86_400),
        ])
    func sound(_ text: String, _ seconds: Int) {
        #expect(RetryAfter.duration(text, now: now) == .seconds(seconds))
    }

    @Test(
        "A malformed value is ignored",
        arguments: [
            "", " ", "-1", "1.5", "1e3", "soon", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Foo 1994 08:49:37 GMT",
            "Sun, 99 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 25:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT", "٣", "Sun, 06 Nov 99999999999999999999 08:49:37 GMT",
        ])
    func malformed(_ text: String) {
        #expect(RetryAfter.duration(text, now: now) == nil)
    }
}
