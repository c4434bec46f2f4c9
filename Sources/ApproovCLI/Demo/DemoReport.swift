import Foundation

/// Prints the demo: a heading, a line for each step, a summary and what to try next.
///
/// With `json`, it prints one object for each step and nothing else.
struct DemoReport {
    private struct Line: Encodable {
        let step: String
        let ok: Bool
        let detail: String
        let milliseconds: Double
    }

    let json: Bool
    private var held: [DemoStep] = []
    private var failed: [DemoStep] = []

    init(json: Bool) { self.json = json }

    /// Whether every step ran and held.
    var allHeld: Bool { held == DemoStep.allCases }

    /// Says what the demo starts.
    /// - Throws: `CommandFailure` when standard output cannot be written, as do ``step(_:_:)`` and ``end()``.
    func begin() throws {
        guard !json else { return }
        try Console.write(
            line:
                """
                approov demo: the whole system on this machine
                It starts an authority, protected APIs, an impostor of one, an authorization server, a relay, a gateway and an app, on ports
                that the system picks.
                Each line says what the step proves and, after the colon, what the demo saw. At the end the demo removes everything.

                """)
    }

    /// Runs a step, which returns a description of what it saw, or throws.
    mutating func step<Value>(_ step: DemoStep, _ body: () async throws -> (Value, detail: String)) async throws -> Value? {
        let start = ContinuousClock.now
        let outcome: Result<(Value, detail: String), any Error>
        do {
            outcome = .success(try await body())
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            outcome = .failure(error)
        }
        let took = start.duration(to: .now)
        switch outcome {
        case .success((let value, let detail)):
            held.append(step)
            try line(step, ok: true, detail: detail, took: took)
            return value
        case .failure(let error):
            failed.append(step)
            try line(step, ok: false, detail: "\(error)", took: took)
            return nil
        }
    }

    /// Says how many steps held, which ones failed or did not run, and what to try next.
    func end() throws {
        guard !json else { return }
        let skipped = DemoStep.allCases.filter { !held.contains($0) && !failed.contains($0) }
        var summary = "\(held.count) of \(DemoStep.allCases.count) steps succeeded."
        if !failed.isEmpty { summary += " Failed: \(failed.map(\.rawValue).joined(separator: ", "))." }
        if !skipped.isEmpty { summary += " Not run: \(skipped.map(\.rawValue).joined(separator: ", "))." }
        try Console.write(line: "\n\(summary)")
        guard allHeld else {
            return try Console.write(
                line:
                    "Either the package has a defect, or something on this machine interferes; the FAIL lines above say what the demo saw.")
        }
        try Console.write(
            line:
                """

                Try next, in a new folder, with approov in PATH:
                  approov serve &                                                        # an authority; its store is ./approov-data
                  openssl req -x509 -newkey rsa:2048 -noenc -subj /CN=Root -days 365 -keyout root.key -out root.pem
                  openssl req -x509 -newkey rsa:2048 -noenc -subj /CN=API -days 90 -keyout api.key -out api.pem -CA root.pem \\
                    -CAkey root.key -addext subjectAltName=DNS:api.localhost -addext basicConstraints=critical,CA:FALSE
                  openssl genrsa -out backup.key 2048
                  openssl s_server -accept 127.0.0.1:9443 -www -quiet -cert api.pem -key api.key & # a server that stands in for your API
                  approov api -add api.localhost -pinFrom api.pem -pinFrom backup.key -trustRoots root.pem
                  approov registration -add "$(command -v approov)"                      # register an executable, which then gets tokens
                  approov sdk -getConfig approov-initial.config                          # write the file that the app ships with
                  approov call -v https://api.localhost:9443/                            # call the host with pins and a token
                README.md, "Protect an API on your machine", explains them one by one. Each command has a --help.
                """)
    }

    private func line(_ step: DemoStep, ok: Bool, detail: String, took: Duration) throws {
        let milliseconds = ((took / .milliseconds(1)) * 10).rounded() / 10
        guard !json else {
            return try Console.write(
                line: Console.jsonText(Line(step: step.rawValue, ok: ok, detail: detail, milliseconds: milliseconds)))
        }
        let detail = detail.split(whereSeparator: \.isNewline).joined(separator: " ")
        try Console.write(line: "\(ok ? "ok  " : "FAIL") \(step.claim): \(detail) (\(milliseconds) ms)")
    }
}
