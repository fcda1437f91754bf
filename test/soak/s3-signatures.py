"""Stands before a store of objects, and lets through what AWS's own code signs and sums up in the same way."""

import base64
import hashlib
import http.client
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

STORE, KEY, SECRET = sys.argv[1:]
UNSIGNED = "UNSIGNED-PAYLOAD"


class Filter(BaseHTTPRequestHandler):
    def fault(self, body):
        """The code of what is wrong with the request; None when nothing is."""
        given = self.headers.get("Authorization", "")
        fields = dict(field.split("=", 1) for field in given.partition(" ")[2].replace(" ", "").split(","))
        key, _day, region, service, _end = fields["Credential"].split("/")
        if key != KEY:
            return "InvalidAccessKeyId"
        signed = fields["SignedHeaders"].split(";")
        headers = {name: self.headers[name] for name in signed}
        url = f"http://{self.headers['Host']}{self.path}"
        request = AWSRequest(method=self.command, url=url, data=body, headers=headers)
        request.context["timestamp"] = self.headers["X-Amz-Date"]
        auth = S3SigV4Auth(Credentials(KEY, SECRET), service, region)
        text = auth.string_to_sign(request, auth.canonical_request(request))
        if auth.signature(text, request) != fields["Signature"]:
            return "SignatureDoesNotMatch"
        digest = hashlib.sha256(body)
        if self.headers["X-Amz-Content-Sha256"] not in (UNSIGNED, digest.hexdigest()):
            return "XAmzContentSHA256Mismatch"
        if self.headers.get("X-Amz-Checksum-Sha256") not in (None, base64.b64encode(digest.digest()).decode()):
            return "BadDigest"
        # Without a signed body at least its sum has to be signed.
        if self.headers["X-Amz-Content-Sha256"] == UNSIGNED and "x-amz-checksum-sha256" not in signed:
            return "InvalidRequest"
        return None

    def answer(self, status, headers, body):
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in ("connection", "transfer-encoding", "content-length", "date", "server"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def handle_one(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.fault(body)
        print(self.command, fault or "let through", flush=True)
        if fault:
            text = f"<Error><Code>{fault}</Code><Message>{fault}</Message></Error>"
            return self.answer(403, [("Content-Type", "application/xml")], text.encode())
        store = http.client.HTTPConnection(STORE)
        store.request(self.command, self.path, body, dict(self.headers))
        reply = store.getresponse()
        self.answer(reply.status, reply.getheaders(), reply.read())

    do_GET = do_PUT = do_DELETE = do_HEAD = do_POST = handle_one

    def log_message(self, *_args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Filter)
print(server.server_port, flush=True)
server.serve_forever()
