import HTTPTypes
import Testing

@testable import HTTPListener

@Suite struct MediaTypeTests {
    @Test("types are compared without regard to case, parameters and white space")
    func essence() {
        for value in ["message/ohttp-req", "Message/OHTTP-REQ", " message/ohttp-req ;x=\"y\"", "message/ohttp-req\t"] {
            #expect(MediaType.essence(value) == "message/ohttp-req")
        }
        #expect(MediaType.essence("") == "")
        #expect(MediaType.essence(";") == "")
    }

    @Test("a message with no type, or with two, has none")
    func fields() {
        #expect(MediaType.essence(of: [:]) == "")
        #expect(MediaType.essence(of: [.contentType: "a/b"]) == "a/b")
        var two: HTTPFields = [.contentType: "a/b"]
        two.append(HTTPField(name: .contentType, value: "a/b"))
        #expect(MediaType.essence(of: two) == "")
    }
}
