/// Keys that this package does not generate.
///
/// Only these tests use them.
enum KeyFiles {
    static let encrypted = [
        """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAga9cA99S8t4wICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEAQIEECA+oirt0QWbNqWV39JNjrEEgZCi
        LqwtB1Yb0nEyvxEEljCQ4GZsAxAstjHUqVfuWeo1A0iUxcQTs8IByM3GJ8h0CpCD
        PkXOEGgC8awYvwDFhpm1qaPRiLZj27zGuSHl2A4cXcUXeIpZN33cpH+kCyjw73JN
        ITjkflQQzEb8CU19Ax2b7AKIFGOOMuZWL6LdePRD0IH1CdL+fSCPHspcxsTcr+Y=
        -----END ENCRYPTED PRIVATE KEY-----
        """,
        """
        -----BEGIN EC PRIVATE KEY-----
        Proc-Type: 4,ENCRYPTED
        DEK-Info: AES-128-CBC,F9F060440B2DFD6DD9437C243DFC9223

        dtXWJuCLfO3FA9DEfPjYKBUuFKrBmPgJqzdAuejnGG4JE3KA3KKSqSuvMVm2WcGr
        QhmwNd9PL3/u4uT+Nca8UEGvCMaPXiytPKr0/kDT2+6BMNcl7gF/PXGBuQC1ZF3U
        CjY4x9HYYIYwR7m1pnlzk60UOmUF65yFb5fRAOpSyV8=
        -----END EC PRIVATE KEY-----
        """,
    ]
    /// A P-256 key whose x begins with a zero byte.
    static let p256 = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgSH4JLsfsRV2FwLnz
        IYroFghoVCRVmA6L/QNmY4ptvZyhRANCAAQAHpYAJbTNy88BbLMN3X85BxeuShEm
        t1Nb24CqtQVbwqalGHMLNmH/7GOkIV8xQknxtlnKFJ59r5ooe0/SjXp3
        -----END PRIVATE KEY-----
        """
    /// The same key with its point compressed, as `openssl ec -conv_form compressed` writes it.
    static let compressedP256 = """
        -----BEGIN PRIVATE KEY-----
        MGcCAQAwEwYHKoZIzj0CAQYIKoZIzj0DAQcETTBLAgEBBCBIfgkux+xFXYXAufMh
        iugWCGhUJFWYDov9A2Zjim29nKEkAyIAAwAelgAltM3LzwFssw3dfzkHF65KESa3
        U1vbgKq1BVvC
        -----END PRIVATE KEY-----
        """
    /// The public half of `compressedP256`.
    static let publicCompressedP256 = """
        -----BEGIN PUBLIC KEY-----
        MDkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDIgADAB6WACW0zcvPAWyzDd1/OQcXrkoR
        JrdTW9uAqrUFW8I=
        -----END PUBLIC KEY-----
        """
    static let ed25519 = """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEIIk0PPyDOYe0pmkLzz7EyvYbbLlOi7fOsYVxKO7ndaUc
        -----END PRIVATE KEY-----
        """
    /// A key as long as a P-256 key, but on another curve.
    static let secp256k1 = """
        -----BEGIN PRIVATE KEY-----
        MIGEAgEAMBAGByqGSM49AgEGBSuBBAAKBG0wawIBAQQg2USiLFOC4CHJWWtQKv00
        QRyk3Zg5cAwIl+SSxkJNdq6hRANCAARFjI348cjC0fnCiU4VfaKWZPjE3X8Z8ngG
        5wdb5f9ff0FTXZElISxJ98PkWDunkr/NcWq2RELPvozPB+cEVnAV
        -----END PRIVATE KEY-----
        """
    static let publicSecp256k1 = """
        -----BEGIN PUBLIC KEY-----
        MFYwEAYHKoZIzj0CAQYFK4EEAAoDQgAERYyN+PHIwtH5wolOFX2ilmT4xN1/GfJ4
        BucHW+X/X39BU12RJSEsSffD5Fg7p5K/zXFqtkRCz76MzwfnBFZwFQ==
        -----END PUBLIC KEY-----
        """
    static let rsa1024 = """
        -----BEGIN PRIVATE KEY-----
        MIICdQIBADANBgkqhkiG9w0BAQEFAASCAl8wggJbAgEAAoGBAMaGH4PgkVNPfl8y
        4e1qv1ahzylmV2moIenVwVNuN1OFYWL5GD17GeUOF2HSBtXxTc75yvFH/fXad01C
        u8zAntUg//+9Wau6esk6jkI4B9ZCt87B6X2cKVxgUfBiFKIIFFrQYmHOZ62EvlyS
        Xc0CRR05GGwjJOmPHhnDN8YnIGGVAgMBAAECgYAQvgj0X0ECTKb0sl7ZXfJLBRRq
        gmYG1BYgGVXXimkCEzKWXTmNHc+eQKT6K/NFobcVKH3UAWVKkaUUD/e0md4LJ0n1
        KdeindGsUcOQOBotLCy51rfyQPnzZRFKzz5CzkYMeO2ethRrswUSbGWdxGRj5AmS
        peQ0MklRvfVECbkM9QJBAO7ALwhqYNXz2pcFNMFrkDGHyvcojB7b+JIAQ/RJdeqH
        JPYmn57H2U8asYcUCqzjsiFCIOSxBSAlZVo4lePdxusCQQDU3eyZejm75Ijble4H
        YeZzSz/MtYEIYtFkxk7jTKELN2UNObDggcdb6J1/XAA2zaaLtBRV5YGpH4SY19F/
        GVl/AkAeIZUN+9byyY7Jxnds/bU5+whLfwuIDXzmeDAbUXYXPi0U/7TfZhtv10+W
        W5opTac6eU0Lb6fU8cNDyqZoFqI3AkAYD73e22ILSxntOFVfoEFcZvUfPqUHPaRN
        r9za9J5/lhNmG09TEVhnmzOyYcPkbfqVcBWcYAT4CQgD/uE/bK4hAkA1b1MwWugN
        KAnyrl9MNdm5MLcMySjkR93wdByc46Vg9aTceP/2qalD+GPRdoOI3rbKOT5WMyyl
        qqFHGfiJ2sej
        -----END PRIVATE KEY-----
        """
    static let publicRSA1024 = """
        -----BEGIN PUBLIC KEY-----
        MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDGhh+D4JFTT35fMuHtar9Woc8p
        ZldpqCHp1cFTbjdThWFi+Rg9exnlDhdh0gbV8U3O+crxR/312ndNQrvMwJ7VIP//
        vVmrunrJOo5COAfWQrfOwel9nClcYFHwYhSiCBRa0GJhzmethL5ckl3NAkUdORhs
        IyTpjx4ZwzfGJyBhlQIDAQAB
        -----END PUBLIC KEY-----
        """
    /// RSA of 2,048 bits with the public exponent 1.
    static let rsaExponent1 = """
        -----BEGIN PRIVATE KEY-----
        MIICugIBADANBgkqhkiG9w0BAQEFAASCAqQwggKgAgEAAoIBAQC/VlOJid4TR201
        3VJLPIQ8N9HCPO+NCietQPPMaR6dLReQ7So54zUyEl4t4E0d7PJp7Sub4YnrNKaQ
        fDbHlZBUn1n5vhcjDHfb9hDY0rThAvZBq5IvaobADPx1FZznPkyPlHK48dQpguo1
        220eje04DPTnLrpTLnpLgnrz5trZDzhDbSK7V/gRyIKGW5Mus9bNlFgcmIlG8rPX
        +wDiTYJHX76mGLNTc75XR/9iC2rjsAnIsq8HKeRbxijWXWSovU8vVfZgEUljoF2g
        ltk/jcxiTgYzHJFWFMhlnqBv+MblkcxLBUgEatL2qj7upMFHfvoxSGOnBjp/8/TJ
        jFlWKD+TAgEBAgEBAoGBAOgFmLJZpSderKMf8O3KfLoknaYqUwL40byxhjn6Y8tp
        Cy4LktOwtAPYyck/u9sF9tB1PAS7/XZp0MOUYp41ny2k4/6TeIlMn6njeutHTWvH
        EeJxr2CP3IKEIJ7/ToI7S2gcTyx1i/Zt/N14Jdr8BCdvPMBCzH5ERdvN575iv5K5
        AoGBANMcXvbo1ePC6yh4RLt1U1J3Su9IMNZ4oPHNyXx3xWKHepdE/hPvByspftxz
        NWTMLJHw96pJwELNQ4Zb0Frx/5ebMcRrUBo1rnU/pqSCJYfR5rfPiqOhMpJ3giXE
        O6hmeuRzKQxBjhLkWgiG5wKNAMNrjNWB19QiTVf+28g4dC6rAgEBAgEBAoGBAIK6
        z9lTED5ghU33w9sSqQO8uUFoBWQpa4wn6Gtb7LqWcTMGCi7Vb4qtGF7JeD7putbN
        n13VnakzoZg6DWV6in1UR6CMkRQLonQJaCRXUIDn42irXHx1isdus5q3J2VfrmLE
        /IlQtLSCg/qTzZqcjh0ZucXJn/hKkwduYufCT2lf
        -----END PRIVATE KEY-----
        """
    /// The public half of `rsaExponent1`.
    static let publicRSAExponent1 = """
        -----BEGIN PUBLIC KEY-----
        MIIBIDANBgkqhkiG9w0BAQEFAAOCAQ0AMIIBCAKCAQEAv1ZTiYneE0dtNd1SSzyE
        PDfRwjzvjQonrUDzzGkenS0XkO0qOeM1MhJeLeBNHezyae0rm+GJ6zSmkHw2x5WQ
        VJ9Z+b4XIwx32/YQ2NK04QL2QauSL2qGwAz8dRWc5z5Mj5RyuPHUKYLqNdttHo3t
        OAz05y66Uy56S4J68+ba2Q84Q20iu1f4EciChluTLrPWzZRYHJiJRvKz1/sA4k2C
        R1++phizU3O+V0f/Ygtq47AJyLKvBynkW8Yo1l1kqL1PL1X2YBFJY6BdoJbZP43M
        Yk4GMxyRVhTIZZ6gb/jG5ZHMSwVIBGrS9qo+7qTBR376MUhjpwY6f/P0yYxZVig/
        kwIBAQ==
        -----END PUBLIC KEY-----
        """
    /// The same modulus with the public exponent 65,536.
    static let rsaExponent65536 = """
        -----BEGIN PRIVATE KEY-----
        MIICvAIBADANBgkqhkiG9w0BAQEFAASCAqYwggKiAgEAAoIBAQC/VlOJid4TR201
        3VJLPIQ8N9HCPO+NCietQPPMaR6dLReQ7So54zUyEl4t4E0d7PJp7Sub4YnrNKaQ
        fDbHlZBUn1n5vhcjDHfb9hDY0rThAvZBq5IvaobADPx1FZznPkyPlHK48dQpguo1
        220eje04DPTnLrpTLnpLgnrz5trZDzhDbSK7V/gRyIKGW5Mus9bNlFgcmIlG8rPX
        +wDiTYJHX76mGLNTc75XR/9iC2rjsAnIsq8HKeRbxijWXWSovU8vVfZgEUljoF2g
        ltk/jcxiTgYzHJFWFMhlnqBv+MblkcxLBUgEatL2qj7upMFHfvoxSGOnBjp/8/TJ
        jFlWKD+TAgMBAAACAQMCgYEA6AWYslmlJ16sox/w7cp8uiSdpipTAvjRvLGGOfpj
        y2kLLguS07C0A9jJyT+72wX20HU8BLv9dmnQw5RinjWfLaTj/pN4iUyfqeN660dN
        a8cR4nGvYI/cgoQgnv9OgjtLaBxPLHWL9m383Xgl2vwEJ288wELMfkRF283nvmK/
        krkCgYEA0xxe9ujV48LrKHhEu3VTUndK70gw1nig8c3JfHfFYod6l0T+E+8HKyl+
        3HM1ZMwskfD3qknAQs1DhlvQWvH/l5sxxGtQGjWudT+mpIIlh9Hmt8+Ko6EykneC
        JcQ7qGZ65HMpDEGOEuRaCIbnAo0Aw2uM1YHX1CJNV/7byDh0LqsCAQMCAQMCgYEA
        grrP2VMQPmCFTffD2xKpA7y5QWgFZClrjCfoa1vsupZxMwYKLtVviq0YXsl4Pum6
        1s2fXdWdqTOhmDoNZXqKfVRHoIyRFAuidAloJFdQgOfjaKtcfHWKx26zmrcnZV+u
        YsT8iVC0tIKD+pPNmpyOHRm5xcmf+EqTB25i58JPaV8=
        -----END PRIVATE KEY-----
        """
    /// The public half of `rsaExponent65536`.
    static let publicRSAExponent65536 = """
        -----BEGIN PUBLIC KEY-----
        MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAv1ZTiYneE0dtNd1SSzyE
        PDfRwjzvjQonrUDzzGkenS0XkO0qOeM1MhJeLeBNHezyae0rm+GJ6zSmkHw2x5WQ
        VJ9Z+b4XIwx32/YQ2NK04QL2QauSL2qGwAz8dRWc5z5Mj5RyuPHUKYLqNdttHo3t
        OAz05y66Uy56S4J68+ba2Q84Q20iu1f4EciChluTLrPWzZRYHJiJRvKz1/sA4k2C
        R1++phizU3O+V0f/Ygtq47AJyLKvBynkW8Yo1l1kqL1PL1X2YBFJY6BdoJbZP43M
        Yk4GMxyRVhTIZZ6gb/jG5ZHMSwVIBGrS9qo+7qTBR376MUhjpwY6f/P0yYxZVig/
        kwIDAQAA
        -----END PUBLIC KEY-----
        """
    /// The same modulus with the exponent 2.
    static let publicRSAExponent2 = """
        -----BEGIN PUBLIC KEY-----
        MIIBIDANBgkqhkiG9w0BAQEFAAOCAQ0AMIIBCAKCAQEAv1ZTiYneE0dtNd1SSzyE
        PDfRwjzvjQonrUDzzGkenS0XkO0qOeM1MhJeLeBNHezyae0rm+GJ6zSmkHw2x5WQ
        VJ9Z+b4XIwx32/YQ2NK04QL2QauSL2qGwAz8dRWc5z5Mj5RyuPHUKYLqNdttHo3t
        OAz05y66Uy56S4J68+ba2Q84Q20iu1f4EciChluTLrPWzZRYHJiJRvKz1/sA4k2C
        R1++phizU3O+V0f/Ygtq47AJyLKvBynkW8Yo1l1kqL1PL1X2YBFJY6BdoJbZP43M
        Yk4GMxyRVhTIZZ6gb/jG5ZHMSwVIBGrS9qo+7qTBR376MUhjpwY6f/P0yYxZVig/
        kwIBAg==
        -----END PUBLIC KEY-----
        """
    /// The same modulus with the exponent 3, the smallest that is allowed.
    static let publicRSAExponent3 = """
        -----BEGIN PUBLIC KEY-----
        MIIBIDANBgkqhkiG9w0BAQEFAAOCAQ0AMIIBCAKCAQEAv1ZTiYneE0dtNd1SSzyE
        PDfRwjzvjQonrUDzzGkenS0XkO0qOeM1MhJeLeBNHezyae0rm+GJ6zSmkHw2x5WQ
        VJ9Z+b4XIwx32/YQ2NK04QL2QauSL2qGwAz8dRWc5z5Mj5RyuPHUKYLqNdttHo3t
        OAz05y66Uy56S4J68+ba2Q84Q20iu1f4EciChluTLrPWzZRYHJiJRvKz1/sA4k2C
        R1++phizU3O+V0f/Ygtq47AJyLKvBynkW8Yo1l1kqL1PL1X2YBFJY6BdoJbZP43M
        Yk4GMxyRVhTIZZ6gb/jG5ZHMSwVIBGrS9qo+7qTBR376MUhjpwY6f/P0yYxZVig/
        kwIBAw==
        -----END PUBLIC KEY-----
        """
}
