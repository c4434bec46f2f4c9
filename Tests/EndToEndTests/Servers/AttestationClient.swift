import Foundation

/// Attests repeatedly, each time with the challenge of the previous result.
struct AttestationClient: BusyClient {
    private let authority: any PostingConnection
    private let evidence: @Sendable (_ challenge: String) async throws -> String
    private var challenge: String?

    /// - Parameters:
    ///   - authority: Posts to the authority.
    ///   - evidence: Makes the evidence for a challenge.
    init(_ authority: any PostingConnection, evidence: @escaping @Sendable (_ challenge: String) async throws -> String) {
        (self.authority, self.evidence) = (authority, evidence)
    }

    /// Attests once; the evidence identifies the request.
    mutating func request() async throws -> (id: String, isAnswered: Bool)? {
        while challenge == nil {
            do {
                guard let answer = try await post("/v1/challenges", "") else { return nil }
                challenge = try JSONDecoder().decode(ChallengeAnswer.self, from: Data(answer.body)).challenge
            } catch {
                // The authority is stopping. A request for a challenge executes nothing that could get lost.
                continue
            }
        }
        guard let challenge else { return nil }
        let evidence = try await evidence(challenge)
        self.challenge = nil
        do {
            guard let answer = try await post("/v1/attestations", evidence) else { return (evidence, false) }
            let result = try JSONDecoder().decode(ResultAnswer.self, from: Data(answer.body))
            self.challenge = result.challenge.challenge
            return (evidence, answer.status == 200 && !result.token.isEmpty)
        } catch {
            return (evidence, false)
        }
    }

    private func post(_ path: String, _ body: String) async throws -> (status: Int, body: [UInt8])? {
        try await authority.post(path, type: "application/jose", Array(body.utf8))
    }

    func end() async { await authority.end() }
}

/// The answer to `POST /v1/challenges`.
private struct ChallengeAnswer: Decodable {
    let challenge: String
}

/// The answer to `POST /v1/attestations`.
private struct ResultAnswer: Decodable {
    let token: String
    let challenge: ChallengeAnswer
}
