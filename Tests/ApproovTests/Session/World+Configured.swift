import Approov
import ApproovTesting
import Foundation
import FoundationNetworking

extension World {
    /// A session with further settings.
    func configured(
        wrapping wrapped: URLSessionConfiguration = .ephemeral, _ change: (inout ApproovSessionConfiguration) throws -> Void
    ) throws -> ApproovSession {
        var configuration = ApproovSessionConfiguration()
        try change(&configuration)
        return try ApproovSession(
            wrapping: URLSession(configuration: wrapped), service: service,
            trustManager: ApproovTrustManager(anchors: .of(account.root), logger: .silent), configuration: configuration)
    }
}
