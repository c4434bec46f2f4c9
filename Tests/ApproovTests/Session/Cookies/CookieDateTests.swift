import Foundation
import Testing

@testable import Approov

@Suite struct CookieDateTests {
    @Test(
        "A date is read as RFC 6265, section 5.1.1, says",
        arguments: [
            ("Wed, 21 Oct 2099 07:28:00 GMT", 4_096_250_880), ("Wed, 21-Oct-2099 07:28:00 GMT", 4_096_250_880),
            ("Fri, 31-Dec-27 23:59:59 GMT", 1_830_297_599), ("Friday, 31-Dec-27 23:59:59 GMT", 1_830_297_599),
            ("Thu, 01 Jan 1970 00:00:00", 0), ("Thu Jan 01 1970 00:00:00 GMT", 0), ("\"Thu, 01 Jan 1970 00:00:00 GMT\"", 0),
            ("Thu, 01 Jan 1969 00:00:00 GMT", 0), ("Sun, 06 Nov 94 08:49:37 GMT", 784_111_777), ("06 november 1994 8:49:37", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Wed, 1 Jan 2020 0:0:0 +0000", 1_577_836_800),
        ] as [(String, TimeInterval)])
    func dates(text: String, seconds: TimeInterval) { #expect(CookieDate.parse(text)?.timeIntervalSince1970 == seconds) }

    @Test(
        "A text without a part, or with one out of range, is no date",
        arguments: [
            "", "0", "-1", "Wed, 21 Oct 2099", "07:28:00 GMT", "Wed, 32 Oct 2099 07:28:00 GMT", "Wed, 30 Feb 2099 07:28:00 GMT",
            "Wed, 21 Oct 2099 24:28:00 GMT", "Wed, 21 Oct 2099 07:60:00 GMT", "Wed, 21 Oct 1600 07:28:00 GMT", "Wed, 21 Okt 2099 07:28:00",
            "Wed, 21 Oct 20999 07:28:00 GMT", "Wed, 21 Oct 2099 007:28:00 GMT", "\u{1F600}",
        ])
    func noDates(text: String) { #expect(CookieDate.parse(text) == nil) }
}
