import APIClient
import Approov

struct Order: Codable {
    let item: String
}

enum OrderResult {
    case ordered(Order)
    case declined(code: String?, message: String?)
}

func place(_ order: Order, with client: APIClient) async throws -> OrderResult {
    var client = client
    client.validators = [EnvelopeValidator(statusField: "ok")]
    do {
        return .ordered(try await client.post("orders", parameters: order))
    } catch let error as ApproovError where error.code == .responseRefused {
        return .declined(code: error.serverCode, message: error.serverMessage)
    }
}
