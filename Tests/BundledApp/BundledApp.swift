import Approov
import Attestation
import Foundation
import FoundationNetworking

/// An app with default settings: `bundled-app` prints the account of its configuration, `bundled-app URL` prints the response.
@main
struct BundledApp {
    static func main() async {
        do {
            guard let argument = CommandLine.arguments.dropFirst().first, let url = URL(string: argument) else {
                return print(try ApproovConfiguration.bundled().initial.account)
            }
            let (data, _) = try await ApproovSession().data(for: URLRequest(url: url))
            print(String(decoding: data, as: UTF8.self))
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }
}
