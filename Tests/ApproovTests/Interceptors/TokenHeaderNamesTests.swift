import ApproovTesting
import Foundation
import FoundationNetworking
import HTTPTypes
import Testing

@testable import Approov

@Suite struct TokenHeaderNamesTests {
    private func names() throws -> TokenHeaderNames { try TokenHeaderNames(TokenHeader(), bindHeaders: ["Authorization"]) }

    @Test("Header names are compared case-insensitively")
    func comparison() throws {
        let names = try names()
        #expect(names.isOwn("approov-TOKEN") && names.isOwn("APPROOV-traceid"))
        #expect(!names.isOwn("Authorization") && !names.isOwn("Approov-Token2"))
        #expect(names.isBinding("aUTHORIZATION") && !names.isBinding("Approov-Token"))
    }

    @Test("A request is bound only if it has the binding header and the app binds tokens")
    func bound() throws {
        let request = URLRequest("https://api.test/", ["authorization": "Bearer abc"])
        #expect(try names().isBound(request))
        #expect(try names().isBound([.authorization: "Bearer abc"]))
        #expect(try !names().isBound(URLRequest("https://api.test/")))
        let unbound = try TokenHeaderNames(TokenHeader(), bindHeaders: [])
        #expect(!unbound.isBound(request) && !unbound.isBound([.authorization: "Bearer abc"]) && !unbound.isBinding("authorization"))
    }

    @Test("`strip` removes the token's headers in any spelling, and the binding header only if asked to")
    func strip() throws {
        let headers = ["Approov-Token": "t", "approov-token": "u", "Approov-TraceID": "v", "Authorization": "w", "X-Own": "x"]
        var request = URLRequest("https://api.test/", headers)
        try names().strip(&request, andBinding: false)
        #expect(request.allHTTPHeaderFields == ["Authorization": "w", "X-Own": "x"])
        try names().strip(&request, andBinding: true)
        #expect(request.allHTTPHeaderFields == ["X-Own": "x"])
    }
}
