import HTTPClient
import HTTPTypes
import Testing

@testable import HTTPRecording

@Suite struct RedactedURLTests {
    private func redacted(_ query: String) throws -> String {
        var secrets: Set<NotedSecret> = []
        return try Redactor(.standard).url("/?\(query)", &secrets)
    }

    @Test(
        "A parameter with nothing but equals signs after its name may be a secret in Base64",
        arguments: ["c2VjcmV0dG9rZW4=", "c2VjcmV0dG9rZQ==", "flag=", "="])
    func base64(item: String) throws {
        let redacted = try redacted(item)
        #expect(redacted == "/?\(RedactedText.hashed(item))")
        #expect(RecordedURL(reference: redacted).covers(RecordedURL(reference: "/?\(item)")))
        #expect(!RecordedURL(reference: redacted).covers(RecordedURL(reference: "/?other=")))
    }

    @Test("Parameters that are kept, and empty ones, stay", arguments: ["page=", "page", "page=2&&sort==", "sort=a%2Cb%20c%3D", ""])
    func kept(query: String) throws { #expect(try redacted(query) == (query.isEmpty ? "/" : "/?\(query)")) }

    @Test(
        "A kept parameter does not stay if its value hides a token or another parameter",
        arguments: [
            "page=eyJhbGciOiJIUzI1NiJ9.e30.c2ln", "page=2;access_token=SECRET1234", "page=1?access_token=SECRET1234",
            "page=1%26access_token%3DSECRET1234", "page=1%2526access_token%253DSECRET1234", "page=1%3FSECRET1234", "page=1%26SECRET1234",
        ])
    func keptWithSecret(query: String) throws {
        let redacted = try redacted(query)
        #expect(redacted.hasPrefix("/?page=") && !redacted.contains("eyJ") && !redacted.contains("SECRET"))
    }

    @Test("Masked paths hide segments in every spelling, and those that follow a double star")
    func maskedPaths() throws {
        var rules = RecordingRedaction.standard
        rules.maskedPaths = ["/reset/*", "/files/**"]
        let redactor = try Redactor(rules)
        for (base, path) in [
            ("/", "/reset/CANARY123"), ("/", "/reset//CANARY123"), ("/", "/res%65t/CANARY123"), ("/", "/files/CANARY123/CANARY456"),
            ("/", "https://a.test/files/CANARY123?x=1"), ("/", "/x/../reset/CANARY123"), ("/", "/./reset/CANARY123"),
            ("/", "/reset%2FCANARY123"), ("/login", "reset/CANARY123"), ("/a/b", "../reset/CANARY123"), ("/a/b", "%2e%2e/reset/CANARY123"),
            ("/reset/old", "CANARY123"), ("/reset/old", "./CANARY123"), ("/files/a/b", "../c/CANARY123"),
            ("/x/../reset/old", "CANARY123"), ("/", "/reset/CANARY123/https://app.test/home"),
        ] {
            var secrets: Set<NotedSecret> = []
            let redacted = redactor.url(path, from: base, &secrets)
            #expect(!redacted.contains("CANARY") && secrets.contains { $0.text.contains("CANARY") }, "\(path)")
        }
        for (base, path) in [
            ("/", "login"), ("/a/b", "../items?page=2"), ("/reset/x", "../items/7"), ("/files", "items"), ("/", "/a/g%2Fp/issues"),
        ] {
            var secrets: Set<NotedSecret> = []
            #expect(redactor.url(path, from: base, &secrets) == path && secrets.isEmpty, "\(path)")
        }
        var secrets: Set<NotedSecret> = []
        #expect(redactor.url("/reset/CANARY123/go", &secrets) == "/reset/REDACTED/go" && redactor.url("/items/7", &secrets) == "/items/7")
        for rule in ["reset/*", "/reset", "/a/**/b", "/a*", ""] {
            rules.maskedPaths = [rule]
            #expect(throws: TransportError(.recordingFailed, "")) { _ = try Redactor(rules) }
        }
    }

    @Test("A URL in a path loses its host if it has a password, and the recorded URL still covers the live one")
    func urlInPath() throws {
        let redactor = try Redactor(.standard)
        for begin in ["", "https://api.test"] {
            let path = "\(begin)/go/https://bob:Sup3rSecret@app.test/x"
            var secrets: Set<NotedSecret> = []
            let redacted = redactor.url(path, &secrets)
            #expect(redacted == "\(begin)/go/https://REDACTED/x" && secrets.contains(NotedSecret("Sup3rSecret")))
            #expect(RecordedURL(reference: redacted).covers(RecordedURL(reference: path)))
        }
        var secrets: Set<NotedSecret> = []
        #expect(redactor.url("/go/https://app.test/x", &secrets) == "/go/https://app.test/x" && secrets.isEmpty)
    }

    @Test(
        "A segment of a path with a token or a URL with a password is hidden in every encoding, and the recorded URL covers the live one",
        arguments: [
            ("/proxy/https%3A%2F%2Fbob%3ASup3rSecret%40app.test%2Fx", "/proxy/REDACTED"),
            ("/proxy/https%253A%252F%252Fbob%253ASup3rSecret%2540app.test/x", "/proxy/REDACTED/x"),
            ("/proxy/https%3A//bob:Sup3rSecret@app.test/x", "/proxy/https%3A//REDACTED/x"),
            ("/verify/eyJhbGciOiJIUzI1NiJ9.e30.Sup3rSecret", "/verify/REDACTED"),
            ("/verify/eyJhbGciOiJIUzI1NiJ9%2Ee30%2ESup3rSecret/go", "/verify/REDACTED/go"),
        ])
    func secretSegments(path: String, result: String) throws {
        let redactor = try Redactor(.standard)
        var secrets: Set<NotedSecret> = []
        let redacted = redactor.url("https://api.test\(path)", &secrets)
        #expect(redacted == "https://api.test\(result)" && secrets.contains { $0.text.contains("Sup3rSecret") })
        #expect(RecordedURL(reference: redacted).covers(RecordedURL(reference: "https://api.test\(path)")))
        #expect(redactor.lines([.location: path], isRequest: false, &secrets) == ["Location: \(result)"])
        #expect(redactor.lines([.contentLocation: path], isRequest: false, &secrets) == ["Content-Location: \(result)"])
        let link = try #require(HTTPField.Name("Link"))
        #expect(redactor.lines([link: "<\(path)>; rel=next"], isRequest: false, &secrets) == ["Link: <\(result)>; rel=next"])
    }

    @Test(
        "Other segments of a path stay",
        arguments: ["/a%2Fb/c+d&e", "/https%3A%2F%2Fapp.test%2Fx", "/a/eyJ.b.c/eyJhbGciOiJIUzI1NiJ9", "/bob:Sup3rSecret@x", "//", "/", ""])
    func otherSegments(path: String) throws {
        var secrets: Set<NotedSecret> = []
        let redacted = try Redactor(.standard).url(path, &secrets)
        #expect(redacted == path)
    }

    @Test("A parameter is secret by each part of its name in brackets", arguments: ["user[key]", "user[key][]", "user%5Bkey%5D%5B0%5D"])
    func partsInBrackets(name: String) throws { #expect(try redacted("\(name)=4711") == "/?\(name)=REDACTED") }

    @Test("The parts that a recorded URL drops are noted, and so are a query's values, with `+` read as a blank")
    func noted() {
        func noted(_ url: String) -> Set<String> {
            var secrets: Set<NotedSecret> = []
            _ = try? Redactor(.standard).url(url, &secrets)
            return Set(secrets.map(\.text))
        }
        #expect(noted("https://app.test/cb#access_token=opaqueTOKENvalue&state=x") == ["opaqueTOKENvalue"])
        #expect(noted("https://app.test/#/cb?access_token=opaqueTOKENvalue") == ["opaqueTOKENvalue"])
        #expect(noted("https://app.test/#section-2024").isEmpty)
        #expect(noted("https://bob:Sup3rSecret@app.test/") == ["bob:Sup3rSecret", "Sup3rSecret"])
        #expect(noted("//bob:Sup3rSecret@app.test/") == ["bob:Sup3rSecret", "Sup3rSecret"])
        #expect(noted("https://ghp_16C7e42F292c@app.test/") == ["ghp_16C7e42F292c"])
        #expect(noted("//ghp_16C7e42F292c:@app.test/").contains("ghp_16C7e42F292c"))
        // A password that is a word could be the name of a member.
        #expect(noted("https://demo:password@app.test/") == ["demo:password"])
        #expect(noted("https://runner@app.test/").isEmpty && noted("https://app.test/2024-report@b").isEmpty)
        // A URL in the URL.
        for url in ["/?dsn=postgres://app:Sup3rSecret@db/x", "/?dsn=postgres%3A%2F%2Fapp%3ASup3rSecret%40db%2Fx"] {
            #expect(noted(url).contains("Sup3rSecret"))
        }
        #expect(
            noted("/?passphrase=correct+horse+battery%21") == [
                "correct+horse+battery%21", "correct+horse+battery!", "correct horse battery%21", "correct horse battery!",
            ])
    }

    @Test("Percent-encoding does not hide the name of a secret", arguments: ["%70in=4711", "p%69n=4711", "access%5ftoken=x"])
    func encodedNames(item: String) throws { #expect(try redacted(item) == "/?\(item.prefix { $0 != "=" })=REDACTED") }
}
