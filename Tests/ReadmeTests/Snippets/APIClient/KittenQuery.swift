import APIClient
import Foundation
import FoundationNetworking

func kittenSearch(at url: URL) throws -> URLRequest {
    var builder = RequestBuilder(url: url)
    builder.query = ["options": ["include": ["fuzzy", "fluffy", "not mean"], "limit": 4]]
    builder.queryFormat = QueryFormat(arrays: .commaSeparated, dictionaries: .dotNotated)
    return try builder.build().request
}
