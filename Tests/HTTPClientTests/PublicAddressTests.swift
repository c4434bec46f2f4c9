import ApproovTesting
import Foundation
import TestTags
import Testing

@testable import HTTPClient

@Suite(.tags(.sockets)) struct PublicAddressTests {
    @Test(
        "Addresses of the public Internet are public",
        arguments: [
            "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
            "169.253.0.1",
            "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.0.1", "198.17.255.255", "198.20.0.0", "223.255.255.255",
            "2606:4700::1111",
            "2001:200::1", "2a00::1", "3ffe::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
        ])
    func isPublic(_ address: String) { #expect(PublicAddress.contains(address)) }

    @Test(
        "Addresses of this machine, of private networks, of documentation and of translators to them are not public",
        arguments: [
            "0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.255.255", "169.254.169.254", "172.16.0.1", "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1",
            "255.255.255.255", "::", "::1", "fe80::1", "fc00::1", "fd12::1", "ff02::1", "2001:db8::1", "2001::1", "2002:7f00:1::",
            "3fff::1",
            "::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::10.0.0.1", "::127.0.0.1", "100::1", "64:ff9b:1::1", "", "localhost",
            "127.1", "1.1.1.1 ", "fe80::1%lo",
        ])
    func isPrivate(_ address: String) { #expect(!PublicAddress.contains(address)) }

    @Test("A request that refuses private addresses makes no connection to one, whether the host is a name or an address")
    func refused() async throws {
        let site = try await Site.start { _ in TestResponse(text: "inside") }
        for host in ["localhost", "127.0.0.1"] {
            var request = TransportRequest(url: try TransportURL("https://\(host):\(site.server.port)/"), policy: try site.policy())
            request.options.refusesPrivateAddresses = true
            let error = await transportError { try await site.transport.send(request) }
            #expect(error?.code == .addressRefused)
            #expect(error?.isSafeToRepeat == true)
        }
        #expect(site.server.counters.connections == 0)
        await site.stop()
    }

    @Test("Such a request does not use a connection that another request has made")
    func reused() async throws {
        let site = try await Site.start { _ in TestResponse(text: "inside") }
        let policy = try site.policy()
        for isRefused in [false, true, false] {
            var request = TransportRequest(url: try site.url(), policy: policy)
            request.options.refusesPrivateAddresses = isRefused
            if isRefused {
                #expect(await transportError { try await site.transport.send(request) }?.code == .addressRefused)
            } else {
                #expect(try await site.transport.send(request).body.collect(upTo: 100) == Array("inside".utf8))
            }
        }
        #expect(site.server.counters.requests == 2)
        await site.stop()
    }
}
