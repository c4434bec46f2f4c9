import ApproovTesting
import Foundation
import FoundationNetworking
import Testing

/// A Python backend that checks tokens with PyJWT, as the quickstarts of the original do.
struct PyJWTBackend {
    private let process: ChildProcess
    private let url: URL

    /// The Python that `APPROOV_PYTHON` names, for example in a virtual environment, or python3 from PATH.
    private static let python = ProcessInfo.processInfo.environment["APPROOV_PYTHON"] ?? "python3"

    static let whatIsMissing: Comment =
        "PyJWT is not installed, so no Python backend is tested: pip install PyJWT, or set APPROOV_PYTHON to a python that has it"

    /// Whether a backend can run on this machine.
    static func isPossible() async -> Bool {
        let run = try? await ChildProcess.run(URL(filePath: "/usr/bin/env"), [python, "-c", "import jwt; jwt.decode"])
        return run?.exitCode == 0
    }

    private static let program = """
        import base64, os, sys
        from http.server import BaseHTTPRequestHandler, HTTPServer
        import jwt

        secret = base64.b64decode(os.environ["APPROOV_SECRET"])
        options = {"audience": sys.argv[1]} if len(sys.argv) > 1 else {}

        class Backend(BaseHTTPRequestHandler):
            def do_GET(self):
                try:
                    jwt.decode(self.headers["Approov-Token"], secret, algorithms=["HS256"], **options)
                    status, text = 200, "welcome"
                except jwt.InvalidTokenError as error:
                    status, text = 401, type(error).__name__
                self.send_response(status)
                self.end_headers()
                self.wfile.write(text.encode())

        server = HTTPServer(("127.0.0.1", 0), Backend)
        print(server.server_port, flush=True)
        server.serve_forever()
        """

    /// Starts a backend and waits until it listens.
    /// - Parameters:
    ///   - secret: The account secret in padded base64.
    ///   - audience: The value of PyJWT's `audience=`; nil to pass none, as the original's quickstart for FastAPI does.
    /// - Throws: An error when Python ends before it listens.
    init(secret: String, audience: String? = nil) async throws {
        process = try ChildProcess(
            URL(filePath: "/usr/bin/env"), [Self.python, "-c", Self.program] + (audience.map { [$0] } ?? []),
            environment: ["APPROOV_SECRET": secret])
        let port = try await process.waitForOutput().split(separator: "\n").first ?? ""
        url = try #require(URL(string: "http://127.0.0.1:\(port)/"))
    }

    /// The answer to a request with a token: the status and a text, which is the class of PyJWT's error if there is one.
    ///
    /// - Throws: `TestServerError` with what Python printed, when it does not answer.
    func answer(to token: String) async throws -> String {
        var request = URLRequest(url: url)
        request.setValue(token, forHTTPHeaderField: "Approov-Token")
        let (data, response): (Data, URLResponse)
        do {
            (data, response) = try await URLSession.shared.data(for: request)
        } catch {
            let state = process.isRunning ? "runs" : "ended with \(await process.wait().end)"
            throw TestServerError("the Python backend \(state): \(process.errors)\n\(error)")
        }
        let status = try #require(response as? HTTPURLResponse).statusCode
        return "\(status) \(String(decoding: data, as: UTF8.self))"
    }
}
