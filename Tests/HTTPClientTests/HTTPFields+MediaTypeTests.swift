import HTTPClient
import HTTPTypes
import Testing

@Suite("The media type of a message")
struct MediaTypeTests {
    @Test(
        "is compared without regard to case, parameters and white space around it",
        arguments: [
            "message/ohttp-res", "Message/OHTTP-Res", "message/ohttp-res;a=b", " message/ohttp-res ; charset=utf-8", "message/ohttp-res\t",
        ])
    func matching(value: String) {
        #expect(([.contentType: value] as HTTPFields).mediaType == "message/ohttp-res")
    }

    @Test(
        "is another for a longer or a shorter name, and for one with white space in it",
        arguments: [
            "", ";", "message/ohttp-re", "message/ohttp-res2", "x message/ohttp-res", "message/ ohttp-res", "text/html; message/ohttp-res",
        ])
    func others(value: String) {
        #expect(([.contentType: value] as HTTPFields).mediaType != "message/ohttp-res")
    }

    @Test("there is none without a field, or with two")
    func fields() {
        #expect(HTTPFields().mediaType.isEmpty)
        var two: HTTPFields = [.contentType: "a/b"]
        two.append(HTTPField(name: .contentType, value: "a/b"))
        #expect(two.mediaType.isEmpty)
    }
}
