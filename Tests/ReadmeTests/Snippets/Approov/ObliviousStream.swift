import Approov
import Foundation
import FoundationNetworking

func totalSize(of url: URL, over session: ApproovSession) async throws -> Int {
    let (bytes, _) = try await session.bytes(for: URLRequest(url: url))
    var count = 0
    for try await chunk in bytes.chunks { count += chunk.count }
    return count
}
