import Testing

@testable import OHTTP

@Suite("Media types")
struct MediaTypesTests {
    @Test(
        "match whatever the case and the parameters",
        arguments: ["message/ohttp-res", "Message/OHTTP-Res", "message/ohttp-res;a=b", " message/ohttp-res ; charset=utf-8"])
    func matching(value: String) {
        #expect(OHTTPMediaType.matches(value, OHTTPMediaType.response))
        #expect(!OHTTPMediaType.matches(value, OHTTPMediaType.chunkedResponse))
    }

    @Test(
        "do not match another type, a longer or a shorter one",
        arguments: [
            "", ";", "message/ohttp-re", "message/ohttp-res2", "message/ohttp-req", "x message/ohttp-res", "text/html; message/ohttp-res",
        ])
    func others(value: String) {
        #expect(!OHTTPMediaType.matches(value, OHTTPMediaType.response))
    }
}
