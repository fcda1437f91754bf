"""Whole flows of Authlib and requests-oauthlib. Prints addresses that a person has to open; reads where they led."""
import json
import os
import sys

os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"


def say(**what):
    print(json.dumps(what), flush=True)


def open_by_person(address):
    say(open=address)
    return sys.stdin.readline().strip()


def authlib_flow(origin, client_id, secret, callback, method):
    from authlib.integrations.base_client.errors import OAuthError
    from authlib.integrations.requests_client import OAuth2Session
    from authlib.common.security import generate_token

    session = OAuth2Session(
        client_id, secret, scope="openid email", redirect_uri=callback,
        token_endpoint_auth_method=method, code_challenge_method="S256",
    )
    verifier = generate_token(48)
    address, state = session.create_authorization_url(origin + "/oauth/authorize", code_verifier=verifier)
    back = open_by_person(address)
    token = session.fetch_token(
        origin + "/oauth/token", authorization_response=back, state=state, code_verifier=verifier
    )
    assert token["token_type"] == "bearer" and token["expires_in"] == 7200, token
    assert "email" in session.get(origin + "/oauth/userinfo").json()
    old = token["refresh_token"]
    token = session.refresh_token(origin + "/oauth/token", refresh_token=old)
    assert token["refresh_token"] != old
    if method != "none":
        told = session.introspect_token(origin + "/oauth/introspect", token=token["access_token"]).json()
        assert told["active"] is True, told
    assert session.revoke_token(origin + "/oauth/revoke", token=token["access_token"]).status_code == 200
    try:
        session.refresh_token(origin + "/oauth/token", refresh_token=token["refresh_token"])
        raise SystemExit("a revoked token was refreshed")
    except OAuthError as error:
        assert error.error == "invalid_grant", error.error


def requests_flow(origin, client_id, secret, callback):
    from oauthlib.oauth2 import InvalidGrantError, LegacyApplicationClient
    from requests_oauthlib import OAuth2Session

    session = OAuth2Session(client_id, scope=["read_user"], redirect_uri=callback, pkce="S256")
    address, _ = session.authorization_url(origin + "/oauth/authorize")
    back = open_by_person(address)
    token = session.fetch_token(origin + "/oauth/token", authorization_response=back, client_secret=secret)
    assert session.get(origin + "/api/v4/user").json()["username"] == sys.argv[6]
    old = token["refresh_token"]
    session.refresh_token(origin + "/oauth/token", refresh_token=old, client_id=client_id, client_secret=secret)
    try:
        session.refresh_token(origin + "/oauth/token", refresh_token=old, client_id=client_id, client_secret=secret)
        raise SystemExit("a used token was refreshed")
    except InvalidGrantError:
        pass
    first_party = OAuth2Session(client=LegacyApplicationClient(client_id))
    token = first_party.fetch_token(
        origin + "/oauth/token", username=sys.argv[6], password=sys.argv[7],
        client_id=client_id, client_secret=secret, scope=["api"],
    )
    assert "refresh_token" not in token and "created_at" not in token, token


library, origin, client_id, secret, callback = sys.argv[1:6]
if library == "requests-oauthlib":
    requests_flow(origin, client_id, secret, callback)
else:
    authlib_flow(origin, client_id, secret or None, callback, library.split(":")[1])
say(done=True)
