import HTTPClient
import HTTPTypes
import Testing

@Suite("The media type of a message")
struct MediaTypeTests {
    @Test(
        "The media type ignores case, parameters and surrounding white space",
        arguments: [
            "message/ohttp-res", "Message/OHTTP-Res", "message/ohttp-res;a=b", " message/ohttp-res ; charset=utf-8", "message/ohttp-res\t",
        ])
    func matching(value: String) {
        #expect(([.contentType: value] as HTTPFields).mediaType == "message/ohttp-res")
    }

    @Test(
        "An empty value, a longer or shorter name, or one with white space inside does not match",
        arguments: [
            "", ";", "message/ohttp-re", "message/ohttp-res2", "x message/ohttp-res", "message/ ohttp-res", "text/html; message/ohttp-res",
        ])
    func others(value: String) {
        #expect(([.contentType: value] as HTTPFields).mediaType != "message/ohttp-res")
    }

    @Test("The media type is empty without a Content-Type field, or with two")
    func fields() {
        #expect(HTTPFields().mediaType.isEmpty)
        var two: HTTPFields = [.contentType: "a/b"]
        two.append(HTTPField(name: .contentType, value: "a/b"))
        #expect(two.mediaType.isEmpty)
    }
}
