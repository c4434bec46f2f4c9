import ApproovAuthority
import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import TestTags
import Testing

/// Environment variables must not weaken a protected call, here in a separate process.
@Suite("Environment variables", .tags(.sockets, .processes), .timeLimit(.minutes(5)))
struct EnvironmentTests {
    /// Makes an attested call of the built `approov` with variables in its environment.
    private func call(
        _ world: LoopbackWorld, port: Int? = nil, environment: [String: String]
    ) async throws -> ChildProcess.Run {
        try await world.authority.store.addRegistration(
            ExecutableMeasurement.sha256(ofFileAt: ChildProcess.approov), label: "approov")
        let configuration = try await String(decoding: world.authority.initialConfiguration().serialized, as: UTF8.self)
        return try await ChildProcess.run(
            ChildProcess.approov,
            [
                "call", try world.url("/shapes", port: port).absoluteString, "-H", "Authorization: Bearer alice", "--bind", "Authorization",
                "--config", world.folder.write(configuration, to: "initial.config"), "--state", world.folder.path("call-state"),
            ], environment: environment)
    }

    @Test("A call makes no connection to a proxy of the environment")
    func proxies() async throws {
        try await LoopbackWorld.with { world in
            let proxy = try await RawServer.start { await $0.waitForClose() }
            let url = "http://127.0.0.1:\(proxy.port)"
            let names = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy"]
            let run = try await call(world, environment: Dictionary(uniqueKeysWithValues: names.map { ($0, url) }))
            #expect(run.exitCode == 0, "\(run.errors)")
            #expect(proxy.counters.connections == 0)
            await proxy.stop()
        }
    }

    @Test("A call does not create the file that SSLKEYLOGFILE names")
    func keyLog() async throws {
        try await LoopbackWorld.with { world in
            let run = try await call(world, environment: ["SSLKEYLOGFILE": world.folder.path("keys.log")])
            #expect(run.exitCode == 0, "\(run.errors)")
            #expect(!FileManager.default.fileExists(atPath: world.folder.path("keys.log")), "the file must not exist")
        }
    }

    @Test("A call does not wait for a reader if SSLKEYLOGFILE names a FIFO")
    func keyLogFIFO() async throws {
        try await LoopbackWorld.with { world in
            let path = world.folder.path("keys.fifo")
            try #require(mkfifo(path, 0o600) == 0)
            let run = try await call(world, environment: ["SSLKEYLOGFILE": path])
            #expect(run.exitCode == 0, "\(run.errors)")
        }
    }

    @Test("A call does not trust roots that environment variables name")
    func roots() async throws {
        let folder = try TemporaryFolder()
        let evil = try TestPKI.root("Evil Root")
        let server = try await TestHTTPServer.start(certificate: TestPKI.leaf(hosts: ["evil.localhost"], issuer: evil)) { _ in
            TestResponse(text: "evil")
        }
        let file = try folder.write(evil.pem, to: "evil.pem")
        let arguments = ["call", "https://evil.localhost:\(server.port)/", "--no-attest"]
        let environment = [
            "SSL_CERT_FILE": file, "SSL_CERT_DIR": folder.url.path(percentEncoded: false), "CURL_CA_BUNDLE": file,
            "REQUESTS_CA_BUNDLE": file,
        ]
        let refused = try await ChildProcess.run(ChildProcess.approov, arguments, environment: environment)
        #expect(refused.exitCode == 60)
        #expect(server.counters.requests == 0)
        // The control: if the caller names it, the same root is trusted.
        #expect(try await ChildProcess.run(ChildProcess.approov, arguments + ["--cacert", file]).exitCode == 0)
        await server.stop()
    }

    /// A library, loaded before libcurl, that rejects one option like a libcurl that was built without it.
    private static let withoutTrustHook = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdarg.h>
        int curl_easy_setopt(void *handle, int option, ...) {
            va_list arguments;
            va_start(arguments, option);
            void *value = va_arg(arguments, void *);
            va_end(arguments);
            if (option == 20108) return 4; /* CURLOPT_SSL_CTX_FUNCTION: CURLE_NOT_BUILT_IN */
            int (*next)(void *, int, ...) = dlsym(RTLD_NEXT, "curl_easy_setopt");
            return next(handle, option, value);
        }
        """

    @Test("A call makes no connection if libcurl does not accept the trust hook")
    func withoutTrustHook() async throws {
        let folder = try TemporaryFolder()
        let root = try TestPKI.root()
        let leaf = try TestPKI.leaf(hosts: ["api.localhost"], issuer: root)
        let server = try await TestHTTPServer.start(certificate: leaf) { _ in TestResponse(text: "hello") }
        let library = folder.path("without-hook.so")
        let compiler = try await ChildProcess.run(
            URL(filePath: "/usr/bin/env"),
            ["clang", "-shared", "-fPIC", "-o", library, folder.write(Self.withoutTrustHook, to: "hook.c"), "-ldl"],
            environment: ProcessInfo.processInfo.environment)
        try #require(compiler.exitCode == 0, "\(compiler.errors)")
        let arguments = [
            "call", "https://api.localhost:\(server.port)/", "--no-attest", "--cacert", try folder.write(root.pem, to: "root.pem"), "--pin",
            leaf.pin.description,
        ]
        let run = try await ChildProcess.run(ChildProcess.approov, arguments, environment: ["LD_PRELOAD": library])
        #expect(run.exitCode == 1 && run.errors.contains("refused option 20108"), "\(run.errors)")
        #expect(server.counters.connections == 0)
        // The control: without that library the same call succeeds.
        #expect(try await ChildProcess.run(ChildProcess.approov, arguments).exitCode == 0)
        await server.stop()
    }

    @Test("OPENSSL_CONF cannot lower the security level: a weak key under a trusted root is still refused")
    func weakenedOpenSSL() async throws {
        let folder = try TemporaryFolder()
        let root = try TestPKI.root()
        let weak = try TestPKI.leaf(hosts: ["weak.localhost"], issuer: root, key: TestKey(.rsa1024))
        let server = try await TestHTTPServer.start(certificate: weak) { _ in TestResponse(text: "weak") }
        let configuration = """
            openssl_conf = init
            [init]
            ssl_conf = ssl
            [ssl]
            system_default = defaults
            [defaults]
            MinProtocol = None
            CipherString = ALL:@SECLEVEL=0
            """
        let run = try await ChildProcess.run(
            ChildProcess.approov,
            [
                "call", "https://weak.localhost:\(server.port)/", "--no-attest", "--cacert", folder.write(root.pem, to: "root.pem"),
                "--pin",
                weak.pin.description,
            ], environment: ["OPENSSL_CONF": folder.write(configuration, to: "openssl.cnf")])
        #expect(run.exitCode == 60, "\(run.errors)")
        #expect(server.counters.requests == 0)
        await server.stop()
    }

    @Test("A call succeeds even if OPENSSL_CONF names a configuration that breaks OpenSSL")
    func brokenOpenSSL() async throws {
        try await LoopbackWorld.with { world in
            let configuration = """
                config_diagnostics = 1
                openssl_conf = init
                [init]
                providers = providers
                [providers]
                missing = missing
                [missing]
                module = /nonexistent/provider.so
                activate = 1
                """
            let run = try await call(world, environment: ["OPENSSL_CONF": world.folder.write(configuration, to: "openssl.cnf")])
            #expect(run.exitCode == 0, "\(run.errors)")
        }
    }

    @Test("Variables for roots, key log and proxy together do not let an impostor through")
    func together() async throws {
        try await LoopbackWorld.with { world in
            let impostor = try await world.impostor()
            let root = try world.folder.write(world.root.pem, to: "root.pem")
            let run = try await call(
                world, port: impostor.port,
                environment: [
                    "SSL_CERT_FILE": root, "CURL_CA_BUNDLE": root, "SSLKEYLOGFILE": world.folder.path("keys.log"),
                    "HTTPS_PROXY": "http://127.0.0.1:\(impostor.port)",
                ])
            #expect(run.exitCode == 60, "\(run.errors)")
            #expect(impostor.receivedCount == 0)
            await impostor.stop()
        }
    }
}
