import Approov
import Foundation
import HTTPTypes
import Testing

@Suite("The freshness lifetime of a response")
struct FreshnessLifetimeTests {
    private static let now = Date(timeIntervalSince1970: 784_111_777)

    private func seconds(_ fields: (HTTPField.Name, String)..., countsDate: Bool = false) -> Int64 {
        var list = HTTPFields()
        for (name, value) in fields { list.append(HTTPField(name: name, value: value)) }
        return FreshnessLifetime.remaining(list, now: Self.now, countsDate: countsDate).components.seconds
    }

    @Test("The lifetime is max-age less Age, and max-age takes precedence over Expires")
    func maxAge() {
        #expect(seconds((.cacheControl, "max-age=60")) == 60)
        #expect(seconds((.cacheControl, "Public , MAX-AGE=\"60\"")) == 60)
        #expect(seconds((.cacheControl, "max-age=60"), (.age, "45")) == 15)
        #expect(seconds((.cacheControl, "max-age=60"), (.age, "70")) == 0)
        #expect(seconds((.cacheControl, "max-age=60"), (.expires, "Sun, 06 Nov 1994 09:49:37 GMT")) == 60)
        #expect(seconds((.cacheControl, "public"), (.cacheControl, "max-age=60")) == 60)
    }

    @Test("Expires counts from the response's own date, or from now if it has none")
    func expires() {
        #expect(seconds((.expires, "Sun, 06 Nov 1994 08:50:37 GMT")) == 60)
        #expect(seconds((.expires, "Sun, 06 Nov 1994 08:50:37 GMT"), (.date, "Sun, 06 Nov 1994 08:50:07 GMT")) == 30)
        #expect(seconds((.expires, "Sun, 06 Nov 1994 08:50:37 GMT"), (.age, "50")) == 10)
    }

    @Test("A response is at least as old as its date, where that counts")
    func date() {
        let earlier = (HTTPField.Name.date, "Sun, 06 Nov 1994 08:48:37 GMT")
        #expect(seconds((.cacheControl, "max-age=90"), earlier, countsDate: true) == 30)
        #expect(seconds((.cacheControl, "max-age=90"), earlier, (.age, "70"), countsDate: true) == 20)
        #expect(seconds((.expires, "Sun, 06 Nov 1994 08:49:07 GMT"), earlier, countsDate: true) == 0)
        #expect(seconds((.cacheControl, "max-age=90"), earlier) == 90)
    }

    @Test("A response without a valid lifetime, or one that must not be cached, has a lifetime of zero")
    func none() {
        #expect(seconds() == 0)
        #expect(seconds((.cacheControl, "no-store, max-age=60")) == 0)
        #expect(seconds((.cacheControl, "max-age=60, no-cache")) == 0)
        #expect(seconds((.cacheControl, "s-maxage=60")) == 0)
        for value in ["", "-1", "1.5", "x", "+60", "60s"] { #expect(seconds((.cacheControl, "max-age=\(value)")) == 0, "\(value)") }
        #expect(seconds((.expires, "0")) == 0)
        #expect(seconds((.expires, "Sun, 06 Nov 1994 08:50:37 GMT"), (.expires, "Sun, 06 Nov 1994 08:55:37 GMT")) == 0)
        #expect(seconds((.cacheControl, "max-age=60"), (.age, "x")) == 0)
    }

    @Test("The lifetime is at most 30 days")
    func longest() {
        #expect(seconds((.cacheControl, "max-age=99999999999999999999")) == 30 * 86_400)
    }
}
