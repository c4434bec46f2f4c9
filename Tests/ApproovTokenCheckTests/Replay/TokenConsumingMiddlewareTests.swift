import ApproovBase
import ApproovTesting
import ApproovTokenCheck
import Hummingbird
import HummingbirdTesting
import Testing

@Suite struct TokenConsumingMiddlewareTests {
    /// A check that refuses requests with a certain header.
    private struct OtherCheck: RouterMiddleware {
        typealias Context = BasicTokenCheckedRequestContext

        func handle(
            _ request: Request, context: Context, next: (Request, Context) async throws -> Response
        ) async throws -> Response {
            request.headers[.origin] == nil ? try await next(request, context) : Response(status: .forbidden)
        }
    }

    private let routes = LimitedUseRoutes()

    @Test("A token that another check refuses stays unused, and then passes once")
    func behindOthers() async throws {
        let check = try TokenCheckMiddleware<BasicTokenCheckedRequestContext>(verifier: routes.verifier())
        let consuming = try TokenConsumingMiddleware<BasicTokenCheckedRequestContext>(store: MemoryReplayStore(time: routes.clock))
        let token = try routes.token()
        try await routes.serve(behind: {
            $0.add(middleware: check)
            $0.add(middleware: OtherCheck())
            $0.add(middleware: consuming)
        }) { (send) async throws in
            #expect(try await send([("Approov-Token", token), ("Origin", "x")]).status == 403)
            #expect(try await send([("Approov-Token", token)]) == .init(status: 200, retryAfter: nil, challenge: nil, body: "first"))
            #expect(try await send([("Approov-Token", token)]) == .init(status: 401, retryAfter: nil, challenge: "Approov", body: ""))
            #expect(try await send([("Approov-Token", token), ("Origin", "x")]).status == 403)
        }
        #expect(routes.calls.value == 1)
    }

    @Test("A store that fails gives 503, and the handler does not run")
    func failing() async throws {
        let check = try TokenCheckMiddleware<BasicTokenCheckedRequestContext>(verifier: routes.verifier())
        let store = StoreDouble { throw ReplayStoreError(.storeUnusable, "") }
        let consuming = try TokenConsumingMiddleware<BasicTokenCheckedRequestContext>(store: store)
        let token = try routes.token()
        try await routes.serve(behind: {
            $0.add(middleware: check)
            $0.add(middleware: consuming)
        }) { (send) async throws in
            #expect(try await send([("Approov-Token", token)]) == .init(status: 503, retryAfter: "5", challenge: nil, body: ""))
        }
        #expect(routes.calls.value == 0)
    }

    @Test("Without a token check in front of it, no request passes")
    func alone() async throws {
        let consuming = try TokenConsumingMiddleware<BasicTokenCheckedRequestContext>(store: MemoryReplayStore())
        let token = try routes.token()
        try await routes.serve(behind: {
            $0.add(middleware: consuming)
        }) { (send) async throws in
            #expect(try await send([("Approov-Token", token)]).status == 500)
        }
        #expect(routes.calls.value == 0)
    }
}
