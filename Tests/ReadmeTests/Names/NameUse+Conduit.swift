import APIClient
import Approov
import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing
import Logging

/// Counts responses and finished requests, as Conduit's response middleware can.
private struct ResponseCounter: SessionObserver {
    let counts = Shared<[String]>([])

    func didReceive(_ response: ResponseSummary) { counts.change { $0.append("didReceive") } }
    func didFinish(_ metrics: CallMetrics) { counts.change { $0.append("didFinish") } }
}

extension NameUse {
    static let conduit: [NameUse] = [
        NameUse("URLSessionClient") { (world) async throws in
            let first: APIClient = try client(world)
            var second = first
            second.headers["X-Copy"] = "1"
            #expect(first.headers.isEmpty && second.session === first.session)
        },
        NameUse("requestMiddleware, RequestPipelineMiddleware, prepareForTransport") { (world) async throws in
            var client: APIClient = try client(world)
            client.interceptors = [Decoration() as any RequestInterceptor]
            #expect(try await Decoration().adapt(URLRequest(url: url)).url == url)
            _ = try await client.resource("items").send(.get)
            #expect(world.apiRequests.first?.headerFields.contains { $0.name.canonicalName == "x-decorated" } == true)
        },
        NameUse("responseMiddleware, ResponsePipelineMiddleware, TaskResponse") { (world) async throws in
            let observer = ResponseCounter()
            let session = try session(world) { (settings: inout ApproovSessionConfiguration) in
                settings.observers = [observer as any SessionObserver]
            }
            _ = try await session.data(from: url)
            #expect(await eventually { observer.counts.value == ["didReceive", "didFinish"] })
        },
        NameUse("begin(request:), SessionTaskProxy") { (world) async throws in
            let session = try session(world)
            let (ends, end) = AsyncStream.makeStream(of: Bool.self)
            let task: ApproovTask = session.dataTask(
                with: URLRequest(url: url),
                completionHandler: { _, _, error in
                    end.yield(error != nil)
                })
            task.suspend()
            task.cancel()
            task.resume()
            for await isError in ends {
                #expect(isError)
                break
            }
        },
        NameUse("pipelineBehaviorOptions, awaitsOutgoingCompletion") { (world) async throws in
            let gate: RequestGate = RequestGate()
            let session = try session(world) { (settings: inout ApproovSessionConfiguration) in settings.gate = gate }
            gate.pause(for: .seconds(10))
            gate.empty(throwing: CocoaError(.userCancelled))
            gate.resume()
            _ = try await session.data(from: url)
            #expect(try await gate.barrier(waiting: .seconds(1), limit: .seconds(1)) { 7 } == 7)
        },
        NameUse("AutoPurgingURLDataCache, DataDownloader") { (world) async throws in
            var client: APIClient = try client(world)
            client.cache = DataCache(capacity: 1 << 20)
            let resource: Resource = try client.resource("items")
            let data: CachedData = try await resource.cachedData()
            #expect(!data.isFromCache)
        },
        NameUse("HTTPRequestBuilder(url:)") { (_) async throws in
            let builder = RequestBuilder(url: url, method: .post)
            #expect(try builder.build().request.httpMethod == "POST")
        },
        NameUse("queryStringParameters, percentEncodedQuery") { (_) async throws in
            var builder: RequestBuilder = RequestBuilder(url: url)
            builder.query = ["a": 1]
            #expect(try builder.build().request.url?.query() == "a=1")
            builder.percentEncodedQuery = "b=%32"
            #expect(try builder.build().request.url?.query() == "b=%32")
        },
        NameUse("queryStringFormattingOptions, arrayFormat, dictionaryFormat") { (_) async throws in
            let arrays: [QueryFormat.Arrays] = [.indexed, .bracketed, .duplicatedKeys, .commaSeparated]
            let dictionaries: [QueryFormat.Dictionaries] = [.subscripted, .dotNotated]
            for array in arrays {
                for dictionary in dictionaries {
                    var builder = RequestBuilder(url: url)
                    builder.query = ["a": [1, 2], "b": ["c": 3]]
                    builder.queryFormat = QueryFormat(arrays: array, dictionaries: dictionary, plus: .percentEncoded, space: .plus)
                    #expect(try builder.build().request.url?.query()?.isEmpty == false)
                }
            }
        },
        NameUse("plusSymbolEncodingRule, spaceEncodingRule") { (_) async throws in
            let pluses: [QueryFormat.Plus] = [.percentEncoded, .literal, .percentEncodedSpace]
            let spaces: [QueryFormat.Space] = [.percentEncoded, .plus]
            #expect(pluses.count == 3 && spaces.count == 2)
        },
        NameUse("JSONRequestSerializer") { (_) async throws in
            var builder: RequestBuilder = RequestBuilder(url: url, method: .post)
            builder.body = try JSONBody(["name": "Tom"])
            #expect(try builder.build().request.value(forHTTPHeaderField: "Content-Type") == "application/json")
        },
        NameUse("FormEncodedRequestSerializer") { (_) async throws in
            #expect(try FormBody(["name": "Tom"], format: .form).serialize().contentType == "application/x-www-form-urlencoded")
        },
        NameUse("MultipartFormRequestSerializer, FormPart, append(formPart:)") { (_) async throws in
            var form: MultipartBody = MultipartBody()
            let contents: [FormPart.Content] = [
                .text("a"), .binary(Data()), .pdf(Data()), .video(Data(), .mov), .file(path: "/dev/null", type: "text/plain"),
            ]
            for content in contents { form.append(FormPart(name: "part", filename: "part", content: content)) }
            #expect(form.parts.count == 5)
        },
        NameUse(".image(UIImage, .jpeg(compressionQuality:))") { (_) async throws in
            _ = FormPart.Content.image(Data([0xFF, 0xD8]), .jpeg)
        },
        NameUse("XMLRequestSerializer, XMLResponseDeserializer") { (_) async throws in
            #expect(try XMLBody(XMLElement("a")).serialize().contentType.hasPrefix("application/xml"))
            _ = XMLResponse(statuses: 200..<300, mediaTypes: ["text/xml"])
        },
        NameUse("XML, XMLNode") { (_) async throws in
            let element = try XMLElement(parsing: "<a>one <b>two</b></a>")
            #expect(element.elements(named: "b").first?.text == "two" && element.text == "one two")
        },
        NameUse("SOAPEnvelopeFactory") { (_) async throws in
            let envelope = SOAPEnvelope(version: .v1_1, action: "urn:a", body: [XMLElement("a")])
            #expect(try envelope.serialize().contentType.hasPrefix("text/xml"))
        },
        NameUse("JSONResponseDeserializer") { (_) async throws in
            _ = JSONResponse([String: String].self, statuses: 200..<300, mediaTypes: ["application/json"])
        },
        NameUse("ServerAuthenticationPolicy, serverAuthenticationPolicies") { (_) async throws in
            let evaluator: any ServerTrustEvaluating = DefaultTrustEvaluator()
            _ = ApproovTrustManager(evaluators: ["api.test": evaluator])
        },
        NameUse("SSLPinningServerAuthenticationPolicy, CertificateBundle") { (_) async throws in
            let root = try TestPKI.root()
            _ = try PinnedCertificatesTrustEvaluator(bytes: Array(root.pem.utf8))
            let pins = try [1, 2].map { try Pin(spkiSHA256: Array(repeating: $0, count: 32)) }
            _ = try PublicKeysTrustEvaluator(pins: Set(pins))
        },
        NameUse("AwaitNetworkConnectivityRequestPipelineMiddleware") { (_) async throws in
            let interceptor = AwaitNetwork(monitor: NetworkMonitor(), timeout: .seconds(1))
            #expect(interceptor.timeout == .seconds(1))
        },
        NameUse("NetworkReachability") { (_) async throws in
            let monitor: NetworkMonitor = NetworkMonitor()
            #expect([.reachable, .unreachable, .unknown].contains(monitor.status))
            var changes = monitor.changes.makeAsyncIterator()
            #expect(await changes.next() != nil)
        },
        NameUse("ConduitLogger") { (world) async throws in
            let log = ConsoleLog(level: .info, logger: .silent)
            let session = try session(world) { (settings: inout ApproovSessionConfiguration) in settings.observers = [log] }
            _ = try await session.data(from: url)
        },
    ]
}
