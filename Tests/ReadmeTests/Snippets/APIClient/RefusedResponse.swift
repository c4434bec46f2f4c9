import APIClient
import Approov
import FoundationNetworking

enum Deletion {
    case done
    case refused(status: Int)
    case tryLater
}

func delete(_ resource: Resource) async throws -> Deletion {
    do {
        _ = try await resource.send(.delete)
        return .done
    } catch let error as APIError where error.code == .unexpectedStatus {
        return .refused(status: error.response?.head.statusCode ?? 0)
    } catch let error as ApproovError where error.isRetryable {
        return .tryLater
    }
}
