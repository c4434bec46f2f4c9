import Foundation
import HTTPClient
import HTTPTypes
import Testing

@testable import Approov

@Suite struct FieldValidatingTests {
    @Test("A validator judges the fields as they came as it judges the head that is made of them")
    func agreement() throws {
        let validators: [any FieldValidating] = [
            StatusValidator(200..<300), MediaTypeValidator(["text/plain", "image/*"]),
            HeaderValidator(success: "X-Success", status: "X-Code", message: "X-Message"), HeaderValidator(success: "not a name"),
        ]
        let fields: [HTTPFields] = [
            [:], [.contentType: "Text/Plain; charset=utf-8"], [.contentType: "image/png"], [.contentType: "text/html"], [.contentType: ""],
            HTTPFields([HTTPField(name: .contentType, value: "text/plain"), HTTPField(name: .contentType, value: "text/html")]),
        ]
        let spellings = [try #require(HTTPField.Name("x-success")), try #require(HTTPField.Name("X-SUCCESS"))]
        let outcomes = [[], ["true"], ["false"], ["true", "true"], ["true", "false"]]
        for validator in validators {
            var refused = 0
            for status in [200, 204, 404] {
                for fields in fields {
                    for outcome in outcomes {
                        let all = HTTPFields(fields + zip(spellings, outcome).map { HTTPField(name: $0, value: $1) })
                        let response = TransportResponse(
                            status: status, headerFields: all, url: try TransportURL("https://api.test/"))
                        let head = try ResponseHeads().head(
                            of: response, to: try #require(URL(string: "https://api.test/")))
                        for body in [nil, Data(), Data([1])] {
                            let one = refusal { try validator.validate(head, body: body) }
                            let other = refusal {
                                try validator.validate(status: status, body: body) { all.scanJoinedValue(of: $0) }
                            }
                            #expect(one == other, "\(type(of: validator)) \(status) \(all)")
                            if one != nil { refused += 1 }
                        }
                    }
                }
            }
            #expect(refused > 0 || validator is HeaderValidator)
        }
    }

    private func refusal(_ work: () throws -> Void) -> String? {
        do {
            try work()
            return nil
        } catch {
            return "\(error)"
        }
    }
}
