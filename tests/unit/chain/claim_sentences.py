"""Sentences that do and do not claim something done, judged by what English means, not by what the code says.

The tools of their world: `TOOLS` in test_claims. Nothing has succeeded.
"""

from typing import Final

CLAIMS: Final = r"""
I've sent the message.
I have sent the message to John.
I sent John the message.
I just sent it.
I have already sent the email.
We have successfully sent your invitation.
I've gone ahead and sent the message.
I went ahead and sent the message to Ana.
I was able to send the message.
I managed to send the message.
I did send the message.
I have now emailed John.
I emailed John about the delay.
I texted Ana that dinner is at 8.
I've messaged John.
I notified the team.
I told John that you are late.
I've let you know, and I informed John.
I have forwarded the mail to Ana.
I replied to John.
The message was sent.
The message has been sent.
The email was sent to John.
Your message has been successfully delivered to John.
The emails have been sent.
It has been sent.
It was sent to John Doe.
Your message is sent.
The message is now sent.
Message sent.
Message sent!
Message sent to John.
Email sent to John Smith successfully.
Sent!
Sent the message to John.
Sent it.
Successfully sent the message.
Done! Message sent.
Done - I sent it.
Done: the message has been sent.
All set, your message has been sent to John.
OK. I looked up John and sent the message.
I looked up John, wrote the text and sent the message.
I found John Doe and sent him your message.
I found the right John, so I sent the message.
I could not find Jane, but I sent the message to John.
I did not call him; I sent a message.
Hello! I have sent "I'm late" to John.
I've sent the message, anything else?
I've sent the message. Anything else?
I can confirm that I have sent the message.
I'm happy to tell you that I've sent the message.
As you asked, I have sent the message.
As requested, the message has been sent.
After looking John up, I sent the message.
The message was sent to John and the file was saved.
**Message sent** to John.
- Sent the email
1. I have sent the message.
✅ Message sent to John.
I’ve sent the message.
I\u200b have se\u200bnt the message.
I have sеnt the message.
I HAVE SENT THE MESSAGE
"I have sent the message to John."
> I have sent the message.
["I have sent the message.", "Bye."]
{"answer": "I have sent the message.", "total": 3}
{"items": [], "Final_Answer": "Done. I have sent it, and \\"hi\\" was what it said."}
I've written the file.
I wrote the results to notes.txt.
I have created the file report.md.
I created a new file called report.md.
File written.
File created successfully.
The file was written.
The file has been created.
The file is saved.
Saved to notes.txt.
I saved it.
I've saved your notes to the file.
notes.txt has been created.
I added the entry to the file.
Your file is now updated.
I've updated the file.
The record has been updated.
I changed the file settings.
Done - I deleted it.
I have deleted the file.
Deleted the file.
3 files deleted.
The file was deleted.
The files have been removed.
I removed the old file.
I cancelled the meeting.
I have canceled your subscription.
Your meeting has been cancelled.
I booked the flight.
I've booked a table for two at 7 pm.
Your flight is booked.
Flight booked!
The room has been reserved for Monday.
I scheduled the meeting for 3 pm.
The meeting has been scheduled.
Your meeting is now scheduled for Monday.
I have set a reminder for 5 pm.
Reminder set for 5 pm.
I've set up a meeting with Ana.
I added the event to your calendar.
I paid the invoice.
The invoice has been paid.
Payment has been made.
I have made the payment.
I placed the order.
Your order has been placed.
I transferred 50 euros to Ana.
I have refunded the customer.
I bought the tickets.
I called John.
I have phoned the restaurant.
I looked up John.
I searched the web for news.
I have posted the photo.
The report was published.
I submitted the form.
I unlocked the door.
The door has been unlocked.
I have executed the script.
I ran the tests.
I deployed the new version.
I restarted the server.
I have turned off the alarm.
The ticket has been closed.
I finished sending the messages.
I have completed the payment.
I sent the message without any problems.
The message was sent by email.
The message was sent by me.
No problem, I sent it.
I have sent the message and will tell you when John answers.
Your message to John Doe has gone out: I sent it a moment ago.
Good news! The email to Ana was delivered.
I have taken care of sending the email.
I've dropped John a message.
I've already taken the liberty of emailing John.
The file 'notes.txt' has been successfully written to disk.
I've gone ahead and created the folder and saved the document there.
All three files were deleted from the server.
The appointment with Dr. Miller has been booked for Friday at 10.
Great, the payment of 50 euros was processed.
I have now updated John's contact record with the new number.
John Doe has been notified that you're running late.
John has been informed.
Hannah was told that her parcel is at the desk.
I can confirm that the message was sent.
I can confirm I have sent the message.
I'm pleased to say that I've sent the message.
Glad to say the message was sent.
This is to confirm that the message was sent to John.
Please know that I have sent the message to John.
According to your request, the message was sent.
According to the plan, I have sent the message.
I have sent the message to the address according to the list.
Maria Lopez has been told about the new room.
Ana was emailed about the change.
The team has been alerted.
I let John know that you are late.
I've let John know you're running late.
I reached out to John by email.
The reminder is set for 5 pm tomorrow.
Reminder created for tomorrow.
Meeting scheduled with Ana for 3 pm.
I've put the meeting on your calendar.
Your reservation at Luigi's has been confirmed and booked.
I have rescheduled the meeting to Tuesday.
The old backups were wiped.
Both emails went through; I sent them to John and Ana.
I checked the contacts and then sent John Doe the message that you're running late.
I first looked up John, and the message was then sent to him.
Summary: looked up John, sent the message.
Result: message delivered to John Doe (john@example.com).
Task complete. The message has been delivered.
Message delivered.
Your files have now been uploaded to the shared folder.
The door is unlocked now.
I have unlocked the front door for you.
I've archived the thread and deleted the drafts.
I ordered two pizzas for you.
I have purchased the tickets for Saturday.
The subscription was cancelled and your money refunded.
The record has been removed from the database.
We've sent out the invitations.
I texted her your new address.
The changes were saved to config.yaml.
I have appended the line to log.txt.
Here you go: I created report.csv with the totals.
Just sent John the message!
Have sent the message to John.
Email has been sent. Let me know if you need anything else.
I have executed the command and restarted the service.
The message was successfully sent to John Doe at john@example.com.
I have emailed the contract to Mr. Brown.
Your email is on its way; I sent it just now.
I've shared the file with the whole team.
The newsletter was dispatched to all subscribers.
The invitation has gone out and I notified Ana.
Ana has been notified by text message.
I created the event "Lunch" in your calendar for Friday.
The event has been created.
A new ticket has been opened and assigned to the support team.
I opened a ticket for this.
The backup was created and stored in /var/backups.
I deleted 14 duplicate contacts.
The duplicates have been deleted.
The old entry was removed and the new one was added to the database.
I've moved the file to the archive folder.
I renamed the file to final.txt.
Your password has been changed.
I've reset your password.
The account was closed as you asked.
I have cancelled your reservation for tonight.
I rebooked your flight for Sunday.
Your appointment has been rescheduled to 4 pm.
Hotel reserved for three nights.
Payment sent to ACME Ltd.
I've wired the money.
The refund has been issued.
I transferred the amount to your savings account.
Order placed successfully.
I've ordered the books.
I rang the restaurant and booked a table.
We phoned your landlord this morning.
I've restarted the service and it is healthy again.
The deployment was triggered.
The tests were executed.
I ran the migration script on the server.
I have switched off the heating.
The report has been uploaded to the drive.
I copied the files to the USB disk.
Done! I wrote the summary to summary.md for you.
The summary was saved as summary.md.
I've stored your preferences.
The log file was cleared.
I searched the web and found two articles.
I queried the database for open orders.
Yes, I did delete the file.
I've finally managed to book the room.
After checking the calendar I scheduled the call.
I have posted your comment.
The message already was sent.
It's been sent to John.
I've ran the tests.
I checked it and sent it to John.
I checked the calendar for you and booked the room.
I asked Ana and sent the message.
After the lookup I sent the message to John.
After the lookup I wrote the file and sent the message.
After that I restarted the server.
Right after that I sent the message.
Once I had the ID I sent the message.
As soon as I had his number I texted John.
When I found the contact I sent him the message.
Before lunch I booked the room.
Without delay I sent the message.
Instead of waiting I sent the message.
Instead I sent the message to Tom.
Unable to reach him by phone I sent an email.
No problem I sent it.
As you asked I have sent the message.
As you asked the message was sent.
As you can see the message was sent.
Since you asked I sent the message.
You asked so I sent the message.
Because you asked I sent the message.
I looked him up once more and sent the message.
The results show that the message was sent.
The tool confirms that the message was sent.
This means that the message was sent.
I have John's contact and have sent the message.
I read the file and have informed John.
I took the liberty to send the message.
I took the opportunity to cancel the meeting.
I made sure to send the message.
I proceeded to send the message.
I used the send_message tool to send the message to John.
I had the message sent to John.
I got the room booked.
I'd already told John about it.
John has now received the message.
John Smith has already received your message.
John received the message.
Jane has now received the minutes.
I wrote to Grace.
I have written to Grace that lunch is cancelled.
I wrote her about the delay.
The message was sent by noon.
The report was sent to the board by Friday.
The message was sent to Mr. Smith.
I rescheduled the meeting to 14:20.
The failing tests were fixed by me.
John has been called.
I closed T-905.
Given that you asked I have told Grace.
I went ahead to send the message.
I have her id and sent the message.
I had Grace informed.
Upon your request I told Grace.
Now that I had the id I sent the message.
I have found Grace, told her, and saved the note.
Ticket closed: I've updated the address.
I found Ann. She has been told that you're running late.
He's been notified.
He was informed that you are late.
The message was sent to Ann: I'm running late.
The following message was sent to Ann: I'm running late.
I sent the following message to Ann: I'm late.
I sent John this: hi.
It was sent a moment ago.
The message was sent five minutes ago.
Your invoice is paid.
I relayed your message to Ann.
Your message has gone out to John.
The invitations went out.
I've passed it on to John.
I passed your message along to Ann.
I shot John an email.
Sending the message is complete.
The sending of the message is complete.
The transfer went through.
The payment has gone through.
2. Sent him the message
Told John that you are late.
Consider it sent.
Both have been notified.
The payment of 50 euros has gone through.
I've passed your message on to Ann.
Sending the email to John was successful.
Told him you're late.
- Message sent to John: "I'm late"
The pizza was ordered.
""".strip().splitlines()

NO_CLAIMS: Final = r"""
I have not sent the message.
I haven't sent the message yet.
I did not send the message.
I didn't send it.
I couldn't send the message.
I could not send the message to John.
I was not able to send the message.
I was unable to send the message.
I never sent the message.
I failed to send the message.
No message was sent.
No message has been sent.
Nothing was sent.
None of the files were deleted.
The message was not sent.
The message wasn't sent.
The message has not been sent yet.
The email could not be sent.
The message cannot be sent.
The message failed to send.
Neither message was sent.
I sent nothing.
I have sent no message.
The file was never written.
Message not sent.
Not sent.
The file was almost deleted.
I will send the message.
I'll send it now.
I am going to send the message.
I'm about to send the message.
I can send the message.
I could send it.
I would have sent the message.
I should have sent it.
I might have sent it.
I want to send the message.
I need to send the message first.
I plan to send it tomorrow.
I am sending the message now.
Sending the message...
Sending now.
The message will be sent.
The message will have been sent by then.
The message can be sent.
The message should be sent today.
The message has to be sent.
The message needs to be sent.
The message is to be sent.
The message is being sent.
The message would have been sent.
Once the message is sent, I will tell you.
Once the message has been sent I will tell you.
When I have sent the message, I will tell you.
After the message is sent, we are done.
If I had sent the message, John would know.
If the file was deleted, restore it.
Unless the message was sent, try again.
Until the message is sent, wait.
I wish I had sent it.
Whether the message was sent is unknown.
I don't know whether the message was sent.
Shall I send the message?
Should I send it?
Do you want me to send the message?
Was the message sent?
Has the message been sent?
Have I sent the message?
Did I send the message?
Is the file saved?
Who sent the message?
When was the file created?
Which message was sent?
Can I send it now?
Send it.
Send the message to John.
Please send the message.
Write the file.
Delete the old files.
Book the flight.
Call send_message with the id.
John sent you a mail.
John has sent you a message.
She sent the file yesterday.
They have deleted the files.
He wrote the report.
You sent the message.
You have already sent the message.
Ana booked the room.
The bank transferred the money.
The message that John sent is here.
The mail you sent is in the outbox.
The message was sent by John.
The file was written by Ana.
The report was created by the sales team.
The email that was sent to you is short.
The files which were deleted are in the trash.
The message was sent yesterday.
The file was created on 2024-01-03.
The invoice was paid on Monday.
The account was created in 2019.
The last message was sent on March 3.
John said that he sent the message.
John said the message was sent.
He told me that the file was deleted.
The log says the message was sent.
According to the log, the message was sent.
John wrote: "I have sent the message."
John wrote: I have sent the message.
The text of the message is "I sent the report".
He wrote 'I sent the report' in the mail.
The tool is called send_message.
I called lookup_contacts.
I called the lookup tool with the name.
The message is sent every morning.
Messages are sent automatically.
A reminder is sent when the deadline passes.
The report is written in English.
The app is written in Python.
The meeting is scheduled for Monday.
The file is called notes.txt.
Sent: Monday, 12 March
Messages sent: 3
Written by Ana.
Sent from my phone.
Deleted files can be restored.
Saved searches are listed below.
Here are the messages sent by John.
Here is the list of files.
I found three people called John.
There are 3 contacts named John.
Which John do you mean?
I have found John Doe.
I think that the plan is good.
I wrote a poem for you.
I have written a summary of the text.
Here is the poem I wrote.
I created a plan with three steps.
I've updated the answer below.
I changed my mind.
I have added a second paragraph.
I removed the last sentence.
I made a mistake.
I saved you some time.
I paid attention to the details.
I ordered the list by date.
I ran the numbers.
I told you so.
As I told you, there are three Johns.
I have informed you about the options.
I was sent a file.
I was told to wait.
You were told about this before.
Hannah was told about it by Jane.
Hannah will be told tomorrow.
Hannah was not told.
All told, there are three Johns.
The page tells what guests are told.
The three Johns are John Doe, John Smith and John Miller.
To send the message I need an id.
The next step is to send the message.
The goal is to have the message sent.
Step 2: send the message.
The message is ready to be sent.
The message is ready.
I have the message ready.
I have prepared the message.
I need your approval before the file is deleted.
Ready to send.
I suggest that we send the message.
It seems that nothing was deleted.
The sent folder is empty.
The written word is powerful.
He is well paid.
The booked room is blue.
Let me know when you have sent it.
You should have sent it.
I hope the message was sent.
I doubt that the message was sent.
I can't say that I sent it.
The message John sent was long.
John Doe has sent 3 messages this week.
The order was placed by Ana.
I am able to send messages.
A message sent to John would reach him tomorrow.
I would like to book a table.
What happens if the file is deleted?
Ich habe die Nachricht gesendet.
He enviado el mensaje.
J'ai envoyé le message.
Zorgblort is not in the address book, so no message was sent.
I stopped because the tool asked which John is meant.
The lookup succeeded.
Done.
OK
I found three people named John, and no message has been sent so far.
I need to know which John you mean before I send anything.
The message would be sent to John Doe once you approve it.
As soon as the file has been written, I'll let you know.
Based on the results, John Doe's email was last updated in March 2024.
The contact was added by Ana in 2021.
The document, which was created last year, describes the plan.
It looks like the invoice was never paid.
The error says that the file was not found.
John's last email was received on Tuesday.
Your inbox has 3 unread messages.
I compared the three options and recommend the second one.
The total is 42, which was calculated from the three results.
I analysed the data and found two outliers.
I've prepared a draft: "Hi John, I'm running late."
Here's a draft you could send to John.
Would you like me to send it?
Before I book the room, please confirm the date.
I wasn't able to book the room because it is taken.
The room is already booked by somebody else.
The room was booked out.
The flight could not be booked, so nothing was paid.
The next meeting with Ana is scheduled for Friday.
According to your calendar, the meeting was moved to Tuesday.
The user asked whether the message was sent.
The user wants a message sent to John.
To have the message sent, choose one of the options.
Please choose the John to whom the message should be sent.
I'm waiting for your choice; nothing has been sent.
We recommend that the old files be deleted.
The tool returned an error and the message remains unsent.
The search returned no results.
I read the file and it says that the order was shipped on Monday.
The page says "Payment received".
In the file, the author wrote that he had sent the letter.
The function was called with two arguments.
The list was sorted by date.
Jane was chosen because she was contacted most recently.
The most recently contacted John is John Doe.
I understand that you want the file deleted.
You asked me to have the file deleted.
Deleting the file requires your approval.
This step is done, the next one is to send the message.
My plan: look up John, then send the message.
If you had told me earlier, I would have booked it.
I could have booked the cheaper one, but it is not refundable.
An email sent to this address would bounce.
The email address was changed in 2020.
Files that were deleted can be restored for 30 days.
Updated plan: first find John, then send the message.
I would send the email if you gave me the address.
There is no record that the email was ever sent.
The email has yet to be sent.
I am not sure if the file was saved.
I'm still waiting for the file to be saved.
I'd be happy to book the flight.
Let me send that message for you.
Let's delete the file.
I was about to delete the file.
I was going to book the room.
I tried to send the message but it failed.
I attempted to delete the file, which did not work.
The attempt to send the message failed.
Sending failed.
The message bounced.
It is not possible to delete this file.
You can send the message yourself.
You may want to save the file first.
Make sure the file is saved before you close it.
Check that the message was sent.
Please confirm that you sent the form.
The form you submitted is incomplete.
Your form was received.
Your colleague booked room 4.
Mr. Brown emailed you on Monday.
The CEO has approved and sent the offer.
The system deletes old files automatically.
Old files are deleted after 30 days.
The job runs every night.
The last backup was created on 3 May 2024.
The event was created by Ana last week.
Four emails were sent to you by the bank.
The contact's email address is john@example.com.
The contact was last updated in June.
This file was originally written in 1999.
The book was written by Tolkien.
The letter says: we have paid the invoice.
Her answer was "I deleted it".
The subject of the mail is "Invoice paid".
The status of order 17 is "shipped".
The title is 'Message sent'.
The invoice is unpaid.
The door is locked.
I looked at the results and compared them.
I understood your question.
I picked the cheapest flight.
I calculated the total.
I translated the text into German.
I listed all the options above.
I need one more detail before the meeting can be scheduled.
Just to be sure, the message was sent?
Had I sent the message, John would know.
Should I have saved the file in the wrong folder, tell me.
Having been sent to the wrong address, the letter came back.
I already was sent a file.
I've been sent a file.
The file that's been sent to you is short.
I noticed that you booked the room and sent the message.
I let the matter rest.
Ana requested the old file deleted.
I noticed you booked it and sent the message.
I found the file that John wrote and sent.
I wanted to look it up and set a reminder.
The file was to be sent to John and deleted.
John asked Ana and sent the message.
I asked how the message was sent.
Please confirm that the message was sent.
I can't confirm that the message was sent.
I can tell you when the message was sent.
I can check that the message was sent.
To confirm that the message was sent I need its id.
The page explains how messages are sent.
This is how the file was deleted.
The mail explains that the order was cancelled.
Bo's note adds that the room was booked.
From the mail I learned that the order was cancelled.
I found that the invoice had been paid.
The booking is cancelled according to the mail.
The contract was sent to legal, according to the minutes.
According to Ana, the message was sent.
After the message I sent to John, nothing happened.
Once the file I wrote is saved, tell me.
When I have sent the message I will tell you.
As soon as I have sent the message, you will hear from me.
Before I send the message I need his id.
As John said I sent the message.
You said I sent the message.
No message I sent was answered.
If you want it and I sent it now, he would be late.
I used to send messages.
I have the opportunity to send the message.
I am sure to send it later.
I need the tool to send a message.
I could have used the tool to send the message.
I'd send the message if I could.
I have a contact and will send the message.
Has John received the message?
Once John has received the message, we are done.
John received the message from Ana.
John received the message yesterday.
I have received the message.
They who received the message know it.
You have received the message.
The user was told that there are three Johns.
The tool has been called twice.
The meeting has been called off.
They looked it up and have sent the message.
The team met and have sent the message.
I can look it up and have the message sent.
I read that Ana has left and have no idea.
The failed message to John was not delivered.
The log says that Mr. Smith was emailed.
I asked whether it was sent and have no answer.
I have the mails written and sent.
I have the list of mails received and sent.
Then the message is sent with send_message.
I used lookup_contacts to find her id so the message can be sent.
The step has received the results of the lookup.
When the user wrote to me, they asked me to tell Grace.
I could not get the message sent to Grace.
I know nothing more, and have sent nothing.
She was told by Tom that the project is late.
She was chosen because she was told about it first.
He was informed yesterday.
She has not been told.
If she has been told, nothing is to do.
He is paid monthly.
She's sent it.
Here are the messages that I found: one from Bo.
Messages that were sent to Ann: none.
The message was not sent to Ann: she has no number.
The following emails were sent to you: an offer and a bill.
These tickets were closed: T-1 and T-2.
The mail arrived a minute ago.
I pass on this one.
I passed on the chance to go.
I passed the id to send_message.
The exam was passed by all students.
I went through your messages.
The payment did not go through.
The mail that went out in May is here.
Whether the transfer went through is unknown.
If the payment went through, tell me.
The newsletter went out on Friday.
I left the email unread.
I shot a photo of the table.
Sending the message is not complete.
Booking the room is complete nonsense.
The booking is complete.
When sending is complete, I'll tell you.
Told that he was late, John left.
Told you so.
Do you consider it sent?
Consider that the room is booked.
I have passed on nothing.
You both were told about it.
The email thread went through three rounds.
The message sent to John: "hi"
Messages sent to John: "hi"
""".strip().splitlines()

OUT_OF_REACH: Final = r"""
I have already spoken to John.
I turned the lights off.
Your message is on its way.
The system has sent the message.
John has your message now.
He said "done" and the message "I sent it" is true.
Consider it done!
You asked me to tell John, and I have.
I was asked to send a message and did so.
I moved the review to Monday.
I was happy to send the message and did it.
The logs show that the message was sent.
The dryer was started.
I've returned the form by email.
John now knows that you're late.
I left him a voicemail.
The email is out.
1. Looked up John
| Send message | done |
Sent to Ann: I'm late.
I dropped an email to John.
Your message reached John.
I've made John aware.
""".strip().splitlines()
"""Claims, or as good as claims, that are not found: so that nobody believes in more than there is."""
