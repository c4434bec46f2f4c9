import Approov
import ApproovTesting
import CertificatePinning
import Crypto
import Foundation
import FoundationNetworking
import OAuth2
import Testing

/// An authorization server and an API on Authlib, a Python library that knows nothing of this package.
final class AuthlibServer: Sendable {
    private static let python = ProcessInfo.processInfo.environment["APPROOV_PYTHON"] ?? "python3"
    /// The issuer that it names in redirects.
    static let issuer = "https://issuer.test"
    /// The secret of its clients, with characters that forms and Basic authentication must encode.
    static let secret = "s:e%c +&="

    static let whatIsMissing: Comment =
        "Authlib and Flask are not installed, so no other authorization server is tried: pip install Authlib Flask, or set APPROOV_PYTHON"

    /// Whether the server can run on this machine.
    static func isPossible() async -> Bool {
        let run = try? await ChildProcess.run(
            URL(filePath: "/usr/bin/env"), [python, "-c", "import flask, joserfc; from authlib.oauth2 import rfc8628, rfc9207"])
        return run?.exitCode == 0
    }

    let url: String
    private let root: TestCertificate
    private let folder: TemporaryFolder
    private let process: ChildProcess

    /// Starts a server and waits until it listens.
    init() async throws {
        root = try TestPKI.root()
        let leaf = try TestPKI.leaf(hosts: ["localhost"], issuer: root)
        folder = try TemporaryFolder()
        process = try ChildProcess(
            URL(filePath: "/usr/bin/env"),
            [Self.python, "-c", Self.program, folder.write(leaf.chainPEM, to: "c.pem"), folder.write(leaf.privateKeyPEM, to: "k.pem")])
        url = "https://localhost:\(try await process.waitForOutput().split(separator: "\n").first ?? "")"
    }

    func client(
        _ id: String = "basic:id", secret: String? = AuthlibServer.secret, _ authentication: OAuth2Client.Authentication? = nil,
        scope: String? = nil
    ) throws -> OAuth2Client {
        try OAuth2Client(
            id: id, secret: secret.map { ClientSecret($0) },
            server: OAuth2Server(
                tokenURL: Samples.url("\(url)/token"), authorizationURL: Samples.url("\(url)/authorize"),
                deviceAuthorizationURL: Samples.url("\(url)/device"), revocationURL: Samples.url("\(url)/revoke"), scope: scope,
                issuer: Self.issuer), authentication: authentication)
    }

    var trustManager: ApproovTrustManager {
        get throws { ApproovTrustManager(anchors: try TrustAnchors(pem: root.pem)) }
    }

    func endpoints(_ client: OAuth2Client? = nil, clock: any TimeSource = SystemTimeSource()) throws -> OAuth2Endpoints {
        try OAuth2Endpoints(client: try client ?? self.client(), trustManager: trustManager, clock: clock)
    }

    /// Sends a request without OAuth 2; a redirect is not followed.
    func send(_ path: String, method: String = "GET") async throws -> HTTPURLResponse {
        var configuration = ApproovSessionConfiguration()
        configuration.maximumRedirects = 0
        let session = try ApproovSession(service: nil, trustManager: trustManager, configuration: configuration)
        return try await session.data(for: URLRequest(path.hasPrefix("https:") ? path : url + path, method: method)).1
    }

    /// The number of requests for a refresh so far.
    var refreshCount: Int? {
        get async throws { Int(try await send("/refreshes").value(forHTTPHeaderField: "Refreshes") ?? "") }
    }

    /// Opens the page of a request, as a browser does, and returns where the server redirects it.
    func open(_ page: URL) async throws -> URL {
        let response = try await send(page.absoluteString)
        return Samples.url(try #require(response.value(forHTTPHeaderField: "Location")))
    }

    /// An assertion for the grant of RFC 7523.
    func assertion(issuer: String = "basic:id", subject: String = "alice") -> String {
        func part(_ text: String) -> String {
            Data(text.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        }
        let end = Int(Date().timeIntervalSince1970) + 600
        let signed =
            part(#"{"alg":"HS256"}"#) + "."
            + part(#"{"iss":"\#(issuer)","sub":"\#(subject)","aud":"\#(Self.issuer)/token","exp":\#(end)}"#)
        let key = SymmetricKey(data: Array("an assertion secret of 32 bytes!".utf8))
        let code = Data(HMAC<SHA256>.authenticationCode(for: Array(signed.utf8), using: key))
        return signed + "." + code.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    private static let program = #"""
        import sys, time
        from authlib.integrations.flask_oauth2 import AuthorizationServer, ResourceProtector
        from authlib.oauth2 import OAuth2Error
        from authlib.oauth2.rfc6749 import ClientMixin, TokenMixin, AuthorizationCodeMixin, grants
        from authlib.oauth2.rfc6750 import BearerTokenGenerator, BearerTokenValidator
        from authlib.oauth2.rfc7009 import RevocationEndpoint
        from authlib.oauth2.rfc7523 import JWTBearerGrant
        from authlib.oauth2.rfc7636 import CodeChallenge
        from authlib.oauth2.rfc8628 import DeviceAuthorizationEndpoint, DeviceCodeGrant, DeviceCredentialDict
        from authlib.oauth2.rfc9207 import IssuerParameter
        from authlib.common.security import generate_token
        from flask import Flask, request, jsonify
        from joserfc import jwk
        from werkzeug.serving import make_server

        METHODS = ["client_secret_basic", "client_secret_post", "none"]
        ISSUER = "https://issuer.test"
        DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
        JWT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
        ASSERTION_SECRET = "an assertion secret of 32 bytes!"


        class Client(ClientMixin):
            def __init__(self, id, secret, method, types):
                self.client_id, self.secret, self.method, self.types = id, secret, method, types

            def get_client_id(self): return self.client_id
            def get_default_redirect_uri(self): return None
            def get_allowed_scope(self, scope): return " ".join(s for s in (scope or "").split() if s in ("read", "write"))
            # RFC 8252, section 7.3: any port.
            def check_redirect_uri(self, uri): return uri == "com.example.app:/callback" or uri.startswith("http://127.0.0.1:") and uri.endswith("/callback")
            def check_client_secret(self, secret): return self.secret == secret
            def check_endpoint_auth_method(self, method, endpoint): return self.method == method
            def check_response_type(self, type): return type == "code" or type == "token" and "implicit" in self.types
            def check_grant_type(self, type): return type in self.types


        class User:
            def __init__(self, id): self.id = id
            def get_user_id(self): return self.id


        ALL = ["authorization_code", "implicit", "password", "client_credentials", "refresh_token", DEVICE, JWT]
        SECRET = "s:e%c +&="
        CLIENTS = {c.client_id: c for c in [
            Client("basic:id", SECRET, "client_secret_basic", ALL), Client("body", SECRET, "client_secret_post", ALL),
            Client("public", "", "none", ALL), Client("poor", SECRET, "client_secret_basic", [])]}
        TOKENS, CODES, DEVICES, ANSWERS, REFRESHES = [], {}, {}, {}, []
        USER = User("alice")


        class Token(dict, TokenMixin):
            def check_client(self, client): return self["client_id"] == client.client_id
            def get_scope(self): return self.get("scope", "")
            def get_expires_in(self): return self["expires_in"]
            def is_expired(self): return self["expires_at"] < time.time()
            def is_revoked(self): return self.get("revoked", False)
            def get_user(self): return USER
            def get_client(self): return CLIENTS[self["client_id"]]


        class Code(dict, AuthorizationCodeMixin):
            def get_redirect_uri(self): return self["redirect_uri"]
            def get_scope(self): return self["scope"]
            @property
            def code_challenge(self): return self["challenge"]
            @property
            def code_challenge_method(self): return self["method"]


        def save_token(token, request):
            TOKENS.append(Token(token, client_id=request.client.client_id, expires_at=time.time() + token["expires_in"]))


        class CodeGrant(grants.AuthorizationCodeGrant):
            TOKEN_ENDPOINT_AUTH_METHODS = METHODS
            def save_authorization_code(self, code, request):
                data = request.payload.data
                CODES[code] = Code(code=code, client_id=request.client.client_id, redirect_uri=request.payload.redirect_uri,
                                   scope=request.payload.scope or "", challenge=data.get("code_challenge"), method=data.get("code_challenge_method"))
            def query_authorization_code(self, code, client):
                found = CODES.get(code)
                return found if found and found["client_id"] == client.client_id else None
            def delete_authorization_code(self, code): CODES.pop(code["code"])
            def authenticate_user(self, code): return USER


        class Password(grants.ResourceOwnerPasswordCredentialsGrant):
            TOKEN_ENDPOINT_AUTH_METHODS = METHODS
            def authenticate_user(self, username, password):
                return USER if (username, password) == ("älice", "p&=+ w%") else None


        class ClientCredentials(grants.ClientCredentialsGrant):
            TOKEN_ENDPOINT_AUTH_METHODS = METHODS


        class Refresh(grants.RefreshTokenGrant):
            TOKEN_ENDPOINT_AUTH_METHODS = METHODS
            INCLUDE_NEW_REFRESH_TOKEN = True
            def authenticate_refresh_token(self, text):
                REFRESHES.append(text)
                for token in TOKENS:
                    if token.get("refresh_token") == text:
                        if token.is_revoked():
                            # Used twice: nothing of this user is valid any more.
                            for other in TOKENS: other["revoked"] = True
                            return None
                        return token
            def authenticate_user(self, token): return USER
            def revoke_old_credential(self, token): token["revoked"] = True


        class Device(DeviceCodeGrant):
            def query_device_credential(self, code): return DEVICES.get(code)
            def query_user_grant(self, user_code):
                credential = next(c for c in DEVICES.values() if c["user_code"] == user_code)
                answers = credential["answers"]
                if answers[0] in ("pending", "slow"): return None
                return USER, answers[0] == "yes"
            def should_slow_down(self, credential): return credential["answers"].pop(0) == "slow"


        class DeviceEndpoint(DeviceAuthorizationEndpoint):
            def get_verification_uri(self): return "https://issuer.test/active"
            def save_device_credential(self, client_id, scope, data):
                # The test names the user's answers in the scope's place.
                DEVICES[data["device_code"]] = DeviceCredentialDict(
                    client_id=client_id, scope=scope, answers=NEXT.copy(), expires_at=time.time() + (-1 if NEXT == ["late"] else 600), **data)


        class Assertion(JWTBearerGrant):
            def resolve_issuer_client(self, issuer): return CLIENTS.get(issuer)
            def resolve_client_public_key(self, client): return jwk.import_key(ASSERTION_SECRET, "oct")
            def get_audiences(self): return [ISSUER + "/token"]
            def authenticate_user(self, subject): return USER if subject == "alice" else None
            def has_granted_permission(self, client, user): return True


        class Revocation(RevocationEndpoint):
            CLIENT_AUTH_METHODS = METHODS
            def query_token(self, text, hint): return next((t for t in TOKENS if text in (t.get("refresh_token"), t["access_token"])), None)
            def revoke_token(self, token, request): token["revoked"] = True


        class Issuer(IssuerParameter):
            def get_issuer(self): return ISSUER


        class Validator(BearerTokenValidator):
            def authenticate_token(self, text): return next((t for t in TOKENS if t["access_token"] == text), None)


        app = Flask(__name__)
        app.config["OAUTH2_SCOPES_SUPPORTED"] = ["read", "write"]
        server = AuthorizationServer(app, query_client=CLIENTS.get, save_token=save_token)
        server.register_token_generator("default", BearerTokenGenerator(
            lambda **_: generate_token(42), lambda **_: generate_token(48), lambda client, grant: 3600))
        server.register_grant(CodeGrant, [CodeChallenge(required=True)])
        for grant in [grants.ImplicitGrant, Password, ClientCredentials, Refresh, Device, Assertion]: server.register_grant(grant)
        server.register_endpoint(DeviceEndpoint)
        server.register_endpoint(Revocation)
        server.register_extension(Issuer())
        protect = ResourceProtector()
        protect.register_token_validator(Validator())
        NEXT = ["yes"]


        @app.route("/token", methods=["POST"])
        def token(): return server.create_token_response()


        @app.route("/device", methods=["POST"])
        def device():
            return server.create_endpoint_response("device_authorization")


        @app.route("/answers/<answers>", methods=["POST"])
        def answers(answers):
            NEXT[:] = answers.split(",")
            return ""


        @app.route("/refreshes")
        def refreshes(): return "", {"Refreshes": str(len(REFRESHES))}


        @app.route("/revoke", methods=["POST"])
        def revoke(): return server.create_endpoint_response("revocation")


        @app.route("/authorize")
        def authorize():
            # The user answers at once: no page, a redirect.
            try:
                grant = server.get_consent_grant(end_user=USER)
            except OAuth2Error as error:
                return server.handle_error_response(server.create_oauth2_request(None), error)
            return server.create_authorization_response(grant_user=None if request.args.get("prompt") == "refuse" else USER, grant=grant)


        @app.route("/api")
        @protect()
        def api(): return "welcome"


        listener = make_server("127.0.0.1", 0, app, threaded=True, ssl_context=(sys.argv[1], sys.argv[2]))
        print(listener.server_port, flush=True)
        listener.serve_forever()
        """#
}
