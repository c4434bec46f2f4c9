import OAuth2

@main
struct OAuth2Worker {
    static func main() async throws {}
}
