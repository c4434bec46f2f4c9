import APIClient
import Foundation
import FoundationNetworking

func search(at url: URL) throws -> URLRequest {
    var builder = RequestBuilder(url: url)
    builder.query = ["options": ["include": ["fuzzy", "fluffy"], "limit": 4]]
    builder.queryFormat = QueryFormat(arrays: .commaSeparated, dictionaries: .dotNotated)
    return try builder.build().request
}
