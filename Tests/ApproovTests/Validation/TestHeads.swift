import Approov
import Foundation
import FoundationNetworking
import Testing

/// Makes the head of a response.
func head(_ status: Int = 200, _ fields: [String: String] = [:]) throws -> HTTPURLResponse {
    let url = try #require(URL(string: "https://api.test/"))
    return try #require(HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields))
}

/// Returns the error with which a validator refuses a response; nil if it accepts it.
func refusal(by validator: some ResponseValidating, of head: HTTPURLResponse, body: Data?) -> ApproovError? {
    do {
        try validator.validate(head, body: body)
        return nil
    } catch {
        return error as? ApproovError
    }
}
