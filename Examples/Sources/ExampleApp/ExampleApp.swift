import Approov
import Foundation
import FoundationNetworking

/// An app that calls an API, such as `ExampleApp https://api.localhost:9443 alice`.
///
/// It needs `approov-initial.config` beside it or in its folder.
@main
struct ExampleApp {
    static func main() async {
        guard CommandLine.arguments.count == 3, let api = URL(string: CommandLine.arguments[1]) else {
            return fail("usage: ExampleApp URL ACCESS-TOKEN", code: 2)
        }
        do {
            let service = try ApproovService(configuration: .bundled(), stateDirectory: ApproovService.defaultStateDirectory())
            let client = try ShapesClient(wrapping: URLSession(configuration: .default), service: service, api: api)
            print(try await client.shape(accessToken: CommandLine.arguments[2]))
            // A configuration that came with the token is on disk before the process ends.
            _ = await service.finishStoring()
        } catch let refused as ShapesClient.Refused {
            fail("the API answered \(refused.status)")
        } catch {
            fail("\(error)")
        }
    }

    private static func fail(_ message: String, code: Int32 = 1) {
        FileHandle.standardError.write(Data("ExampleApp: \(message)\n".utf8))
        exit(code)
    }
}
