import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import Testing

@testable import Approov

@Suite struct RequestFlightTests {
    @Test("A caller whose task is cancelled already sends nothing, and no interceptor is called")
    func cancelledBefore() async throws {
        struct Counting: RequestInterceptor {
            let calls: Shared<Int>
            func adapt(_ request: URLRequest) async throws -> URLRequest {
                calls.change { $0 += 1 }
                return request
            }
        }
        let world = try World()
        let calls = Shared(0)
        let session = try world.configured {
            $0.tracksRequests = true
            $0.interceptors = [Counting(calls: calls)]
        }
        let gate = Gate()
        let task = Task {
            try? await gate.wait()
            return try await session.data(for: URLRequest("https://api.test/")).0
        }
        task.cancel()
        gate.open()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(calls.value == 0)
        #expect(world.apiRequests.isEmpty)
    }
}
