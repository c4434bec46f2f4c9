import Approov
import FoundationNetworking

enum CallResult {
    case answered(status: Int)
    case tryLater
    case untrustedServer(String)
    case failed(String)
}

func call(_ request: URLRequest, over session: ApproovSession) async throws -> CallResult {
    do {
        let (_, response) = try await session.data(for: request)
        return .answered(status: response.statusCode)
    } catch let error as ApproovError where error.isRetryable {
        return .tryLater
    } catch let error as ApproovError where error.code == .pinningError {
        return .untrustedServer(error.refusal.map { "\($0)" } ?? error.message)
    } catch let error as ApproovError {
        return .failed("\(error)")
    }
}
